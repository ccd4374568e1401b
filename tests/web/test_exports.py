"""What somebody takes away: everything about them, and nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from werkzeug.test import TestResponse

from portal.web.exports import inert
from tests.corpus_inputs import BadInput, bad_inputs, cases
from tests.databases import BOTH_KINDS, Databases, databases_of_kind
from tests.web.visitors import Portal, Visitor

MAKERS_OF_FORMULAS = tuple("=+-@\t\r＝＋－＠")  # noqa: RUF001 - full-width on purpose


@pytest.fixture(scope="session", params=BOTH_KINDS)
def databases(request: pytest.FixtureRequest) -> Databases:
    """Both kinds: an export is made of what a database gives back."""
    return databases_of_kind(request)


@pytest.fixture
def ada(portal: Portal) -> Visitor:
    return portal.visitor(portal.personas.ada)


def rows_of(answer: TestResponse) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(answer.data.decode("utf-8-sig"), newline="")))


def exported(ada: Visitor) -> list[dict[str, Any]]:
    memories: list[dict[str, Any]] = json.loads(ada.get("/me/export.json").data)["memories"]
    return memories


def tell_everything(portal: Portal) -> None:
    """Let there be one of each kind, and the same of somebody else."""
    for person in (portal.personas.ada, portal.personas.bob):
        name = person.name.lower()
        portal.remember(person, f"tone_{name}", f"{name} is brief")
        portal.propose(person, f"hours_{name}", f"9 to 5 says {name}", "travel")
        portal.account_fact(person, f"lunch_{name}", f"noon says {name}")
        portal.decide(portal.propose(person, f"parking_{name}", "free"), "reject", f"Not so, {name}.")


def test_the_json_holds_all_that_is_about_the_person(portal: Portal, ada: Visitor) -> None:
    tell_everything(portal)
    answer = ada.get("/me/export.json")
    found = json.loads(answer.data)
    assert found["exported_at"] == "2026-03-01T12:00:00Z"
    assert found["person"] == {
        "name": "Ada",
        "email": "ada@acme.example",
        "organisation": "Acme",
        "role": "member",
        "created_at": "2026-03-01T12:00:00Z",
        "last_signed_in_at": "2026-03-01T12:00:00Z",
    }
    assert [(each["agent"], each["key"], each["status"]) for each in found["memories"]] == [
        ("support", "lunch_ada", "confirmed"),
        ("support", "parking_ada", "rejected"),
        ("support", "tone_ada", "personal"),
        ("travel", "hours_ada", "proposed"),
    ]
    assert found["memories"][1] == {
        "agent": "support",
        "agent_title": "Support",
        "key": "parking_ada",
        "content": "free",
        "status": "rejected",
        "version": 2,
        "stated_at": "2026-03-01T12:00:00Z",
        "created_at": "2026-03-01T12:00:00Z",
        "updated_at": "2026-03-01T12:00:00Z",
        "decided_at": "2026-03-01T12:00:00Z",
        "decided_by": "Root",
        "decision_reason": "Not so, ada.",
    }


@pytest.mark.parametrize("ending", ["json", "csv"])
def test_nothing_of_anybody_else_is_in_it(portal: Portal, ada: Visitor, ending: str) -> None:
    tell_everything(portal)
    text = ada.get(f"/me/export.{ending}").text
    assert "tone_ada" in text
    assert "bob" not in text


def test_the_table_holds_the_same_as_the_json(portal: Portal, ada: Visitor) -> None:
    tell_everything(portal)
    found = [
        {key: "" if value is None else str(value) for key, value in each.items()} for each in exported(ada)
    ]
    assert rows_of(ada.get("/me/export.csv")) == found


@pytest.mark.parametrize(
    ("ending", "mimetype"), [("json", "application/json"), ("csv", "text/csv; charset=utf-8")]
)
def test_it_is_a_file_to_keep(ada: Visitor, ending: str, mimetype: str) -> None:
    answer = ada.get(f"/me/export.{ending}")
    assert answer.headers["Content-Type"] == mimetype
    assert answer.headers["Content-Disposition"] == f"attachment; filename=agent-memory-2026-03-01.{ending}"
    assert answer.headers["Cache-Control"] == "no-store"


def test_somebody_of_whom_nothing_is_known_gets_whole_files(ada: Visitor) -> None:
    assert exported(ada) == []
    assert rows_of(ada.get("/me/export.csv")) == []
    assert ada.get("/me/export.csv").text.startswith('\ufeff"agent","agent_title","key","content"')


def test_it_is_sent_while_it_is_read(portal: Portal, ada: Visitor) -> None:
    for number in range(3):
        portal.remember(portal.personas.ada, f"fact_{number}", "x")
    answer = ada.get("/me/export.json", buffered=False)
    chunks = list(answer.response)
    answer.close()
    assert answer.headers.get("Content-Length") is None
    assert len(chunks) == 5


def test_more_than_fits_on_any_page_is_complete(portal: Portal, ada: Visitor) -> None:
    personas = portal.personas
    personas.directory.define_agent(personas.acme, name="support", memory_limit=400)
    agent = personas.agent(personas.ada)
    for number in range(300):
        portal.manager.remember(agent, f"fact_{number:03}", "x")
    assert [each["key"] for each in exported(ada)] == [f"fact_{number:03}" for number in range(300)]
    assert len(rows_of(ada.get("/me/export.csv"))) == 300


# Formulas


@pytest.mark.parametrize("bad", cases("content", "C8"))
def test_no_content_becomes_a_formula(portal: Portal, ada: Visitor, bad: BadInput) -> None:
    portal.remember(portal.personas.ada, "sum", bad.value)
    answer = ada.get("/me/export.csv")
    [row] = rows_of(answer)
    assert row["content"] == f"'{bad.value}"
    assert f'"\'{bad.value.replace(chr(34), chr(34) * 2)}"' in answer.text
    assert [each["content"] for each in exported(ada)] == [bad.value]


@pytest.mark.parametrize(
    "cell",
    [
        "=1",
        "+1",
        "-1",
        "@SUM(1)",
        "\t1",
        "\r1",
        "＝1",  # noqa: RUF001 - as above
        "＋1",  # noqa: RUF001 - as above
        "－1",  # noqa: RUF001 - as above
        "＠1",  # noqa: RUF001 - as above
        " =1",
        "\u00a0=1",
        "\u3000=1",
        "\n=1",
        "a\n=1",
        "a\r\n \t@1",
        "a\r-1",
        "a\u2028=1",
        "'=1",
        "'tis",
    ],
)
def test_a_guarded_cell_is_the_text_after_an_apostrophe(cell: str) -> None:
    assert inert(cell) == f"'{cell}"


@pytest.mark.parametrize(
    "cell", ["", "x", "1 = 1", "a-b", "ada@acme.example", "9 to 17", "don't", "a\nb", 7, -7]
)
def test_an_innocent_cell_stays_as_it_is(cell: str | int) -> None:
    assert inert(cell) == cell


def test_the_words_of_everybody_else_are_guarded_too(portal: Portal, ada: Visitor) -> None:
    personas = portal.personas
    personas.directory.define_agent(personas.acme, name="support", title="=1+1")
    portal.decide(portal.propose(personas.ada, "hours", "9 to 5"), "reject", "@SUM(1)")
    [row] = rows_of(ada.get("/me/export.csv"))
    assert (row["agent_title"], row["decision_reason"]) == ("'=1+1", "'@SUM(1)")


def test_whatever_may_be_remembered_comes_back_and_is_inert(portal: Portal, ada: Visitor) -> None:
    told = []
    personas = portal.personas
    personas.directory.define_agent(
        personas.acme, name="support", memory_limit=1_000, memory_characters=10**6
    )
    agent = personas.agent(personas.ada)
    for number, bad in enumerate(bad_inputs("content")):
        answer = json.loads(portal.manager.remember(agent, f"fact_{number:03}", bad.value))
        if answer["ok"]:
            told.append(answer["memory"]["content"])
    assert len(told) >= 50
    assert [each["content"] for each in exported(ada)] == told
    cells = [row["content"] for row in rows_of(ada.get("/me/export.csv"))]
    assert [cell.removeprefix("'") for cell in cells] == told
    assert [cell for cell in cells if cell.lstrip().startswith(MAKERS_OF_FORMULAS)] == []
