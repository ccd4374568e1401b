"""The state machine as tables: what each call does, by what it finds under the key.

A state names who stated each row under the key and what it is: "ada personal, bob confirmed". A row that
holds the text of the call in question has a star. The calls are Ada's, if no other caller is named.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from portal.manager import AgentMemoryManager
from tests.databases import Databases, opened
from tests.factories import Clock, create_personas
from tests.invariants import assert_invariants
from tests.manager.shop import Shop

MANY = 10_000
Case = tuple[str, str, str]

# What an agent may find under a key, in each combination that calls can lead to.
STATES = (
    "",
    "ada personal",
    "ada proposed",
    "ada confirmed",
    "ada rejected",
    "bob personal",
    "bob proposed",
    "bob confirmed",
    "bob rejected",
    "ada personal, ada rejected",
    "ada personal, bob confirmed",
    "ada personal, bob proposed",
    "ada personal, bob rejected",
    "ada proposed, bob confirmed",
    "ada proposed, bob proposed",
    "ada proposed, bob rejected",
    "ada confirmed, bob personal",
    "ada confirmed, bob rejected",
    "ada rejected, bob confirmed",
    "ada rejected, bob rejected",
    "ada personal, ada rejected, bob confirmed",
    "ada personal, ada rejected, bob rejected",
    "ada personal, bob confirmed, root rejected",
    "ada proposed, bob confirmed, root rejected",
)

AGENT_CALLS: dict[str, list[Case]] = {
    "remember": [
        # Held: the content is replaced and the row is personal from now on. Where it was a proposal, the
        # answer notes that it is withdrawn; where the key is confirmed too, that the account fact stands.
        ("ada personal", "replaced", "ada personal*"),
        ("ada proposed", "replaced, withdrawn", "ada personal*"),
        ("ada personal, ada rejected", "replaced", "ada personal*, ada rejected"),
        ("ada personal, bob confirmed", "replaced, fact stands", "ada personal*, bob confirmed"),
        ("ada personal, bob proposed", "replaced", "ada personal*, bob proposed"),
        ("ada personal, bob rejected", "replaced", "ada personal*, bob rejected"),
        ("ada proposed, bob confirmed", "replaced, withdrawn, fact stands", "ada personal*, bob confirmed"),
        ("ada proposed, bob proposed", "replaced, withdrawn", "ada personal*, bob proposed"),
        ("ada proposed, bob rejected", "replaced, withdrawn", "ada personal*, bob rejected"),
        (
            "ada personal, ada rejected, bob confirmed",
            "replaced, fact stands",
            "ada personal*, ada rejected, bob confirmed",
        ),
        (
            "ada personal, ada rejected, bob rejected",
            "replaced",
            "ada personal*, ada rejected, bob rejected",
        ),
        (
            "ada personal, bob confirmed, root rejected",
            "replaced, fact stands",
            "ada personal*, bob confirmed, root rejected",
        ),
        (
            "ada proposed, bob confirmed, root rejected",
            "replaced, withdrawn, fact stands",
            "ada personal*, bob confirmed, root rejected",
        ),
        # Confirmed, and nothing held: refused, with the confirmed content, whoever stated it.
        ("ada confirmed", "already_confirmed (ada)", "="),
        ("bob confirmed", "already_confirmed (bob)", "="),
        ("ada confirmed, bob personal", "already_confirmed (ada)", "="),
        ("ada confirmed, bob rejected", "already_confirmed (ada)", "="),
        ("ada rejected, bob confirmed", "already_confirmed (bob)", "="),
        # Otherwise created. What others hold and what was rejected does not matter.
        ("", "created", "ada personal*"),
        ("ada rejected", "created", "ada personal*, ada rejected"),
        ("bob personal", "created", "ada personal*, bob personal"),
        ("bob proposed", "created", "ada personal*, bob proposed"),
        ("bob rejected", "created", "ada personal*, bob rejected"),
        ("ada rejected, bob rejected", "created", "ada personal*, ada rejected, bob rejected"),
    ],
    "propose": [
        # Confirmed: refused, with the confirmed content, whatever else there is.
        ("ada confirmed", "already_confirmed (ada)", "="),
        ("bob confirmed", "already_confirmed (bob)", "="),
        ("ada confirmed, bob personal", "already_confirmed (ada)", "="),
        ("ada confirmed, bob rejected", "already_confirmed (ada)", "="),
        ("ada rejected, bob confirmed", "already_confirmed (bob)", "="),
        ("ada personal, bob confirmed", "already_confirmed (bob)", "="),
        ("ada proposed, bob confirmed", "already_confirmed (bob)", "="),
        ("ada personal, ada rejected, bob confirmed", "already_confirmed (bob)", "="),
        ("ada personal, bob confirmed, root rejected", "already_confirmed (bob)", "="),
        ("ada proposed, bob confirmed, root rejected", "already_confirmed (bob)", "="),
        # Closed: refused, with content and reason only where Ada stated what was rejected.
        ("ada rejected", "already_rejected (ada)", "="),
        ("bob rejected", "already_rejected", "="),
        ("ada personal, ada rejected", "already_rejected (ada)", "="),
        ("ada personal, bob rejected", "already_rejected", "="),
        ("ada proposed, bob rejected", "already_rejected", "="),
        ("ada rejected, bob rejected", "already_rejected (ada)", "="),
        ("ada personal, ada rejected, bob rejected", "already_rejected (ada)", "="),
        # Held: the content is replaced and the row is a proposal from now on.
        ("ada personal", "replaced", "ada proposed*"),
        ("ada proposed", "replaced", "ada proposed*"),
        ("ada personal, bob proposed", "replaced", "ada proposed*, bob proposed"),
        ("ada proposed, bob proposed", "replaced", "ada proposed*, bob proposed"),
        # Otherwise created.
        ("", "created", "ada proposed*"),
        ("bob personal", "created", "ada proposed*, bob personal"),
        ("bob proposed", "created", "ada proposed*, bob proposed"),
    ],
    "forget": [
        # Held: deleted. Where the key is confirmed too, the answer notes that the account fact stays.
        ("ada personal", "forgotten", ""),
        ("ada proposed", "forgotten", ""),
        ("ada personal, ada rejected", "forgotten", "ada rejected"),
        ("ada personal, bob confirmed", "forgotten, fact stays", "bob confirmed"),
        ("ada personal, bob proposed", "forgotten", "bob proposed"),
        ("ada personal, bob rejected", "forgotten", "bob rejected"),
        ("ada proposed, bob confirmed", "forgotten, fact stays", "bob confirmed"),
        ("ada proposed, bob proposed", "forgotten", "bob proposed"),
        ("ada proposed, bob rejected", "forgotten", "bob rejected"),
        (
            "ada personal, ada rejected, bob confirmed",
            "forgotten, fact stays",
            "ada rejected, bob confirmed",
        ),
        ("ada personal, ada rejected, bob rejected", "forgotten", "ada rejected, bob rejected"),
        (
            "ada personal, bob confirmed, root rejected",
            "forgotten, fact stays",
            "bob confirmed, root rejected",
        ),
        (
            "ada proposed, bob confirmed, root rejected",
            "forgotten, fact stays",
            "bob confirmed, root rejected",
        ),
        # Confirmed: only an administrator removes it.
        ("ada confirmed", "already_confirmed (ada)", "="),
        ("bob confirmed", "already_confirmed (bob)", "="),
        ("ada confirmed, bob personal", "already_confirmed (ada)", "="),
        ("ada confirmed, bob rejected", "already_confirmed (ada)", "="),
        ("ada rejected, bob confirmed", "already_confirmed (bob)", "="),
        # Otherwise not found. Others' memories and rejected facts are not there to forget.
        ("", "not_found", "="),
        ("ada rejected", "not_found", "="),
        ("bob personal", "not_found", "="),
        ("bob proposed", "not_found", "="),
        ("bob rejected", "not_found", "="),
        ("ada rejected, bob rejected", "not_found", "="),
    ],
    # The same text again changes nothing; the same text with another status does.
    "remember the same": [
        ("ada personal", "unchanged", "="),
        ("ada proposed", "replaced, withdrawn", "ada personal"),
        ("ada personal, ada rejected", "unchanged", "="),
        ("ada personal, bob confirmed", "unchanged, fact stands", "="),
        ("ada proposed, bob confirmed", "replaced, withdrawn, fact stands", "ada personal, bob confirmed"),
    ],
    "propose the same": [
        ("ada proposed", "unchanged", "="),
        ("ada personal", "replaced", "ada proposed"),
        ("ada proposed, bob proposed", "unchanged", "="),
        ("ada proposed, bob confirmed", "already_confirmed (bob)", "="),
        ("ada proposed, bob rejected", "already_rejected", "="),
    ],
}

# What each agent recalls: what it holds, and after the stroke what is confirmed for the definition. Never
# what is rejected, never what another person holds.
RECALLED = [
    ("", "|", "|"),
    ("ada personal", "ada personal |", "|"),
    ("ada proposed", "ada proposed |", "|"),
    ("ada confirmed", "| ada", "| ada"),
    ("ada rejected", "|", "|"),
    ("ada personal, bob proposed", "ada personal |", "bob proposed |"),
    ("ada personal, bob confirmed", "ada personal | bob", "| bob"),
    ("ada proposed, bob rejected", "ada proposed |", "|"),
    ("ada personal, ada rejected, bob confirmed", "ada personal | bob", "| bob"),
]

# What an administrator, or the command line, does with Ada's row: the held one, else the confirmed, else the
# rejected one.
ADMINISTRATOR_CALLS: dict[str, list[Case]] = {
    # Only a proposal can be confirmed, and only while the key has no confirmed fact. Rejected facts and other
    # proposals under the key do not matter and stay.
    "confirm": [
        ("", "MemoryNotFound", "="),
        ("ada personal", "MemoryNotFound", "="),
        ("ada proposed", "confirmed", "ada confirmed"),
        ("ada confirmed", "AlreadyDecided", "="),
        ("ada rejected", "AlreadyDecided", "="),
        ("ada proposed, bob proposed", "confirmed", "ada confirmed, bob proposed"),
        ("ada proposed, bob personal", "confirmed", "ada confirmed, bob personal"),
        ("ada proposed, bob confirmed", "KeyAlreadyConfirmed", "="),
        ("ada proposed, bob rejected", "confirmed", "ada confirmed, bob rejected"),
        ("ada personal, ada rejected", "MemoryNotFound", "="),
    ],
    # Only a proposal can be rejected; another row under the key is no hindrance.
    "reject": [
        ("", "MemoryNotFound", "="),
        ("ada personal", "MemoryNotFound", "="),
        ("ada proposed", "rejected", "ada rejected"),
        ("ada confirmed", "AlreadyDecided", "="),
        ("ada rejected", "AlreadyDecided", "="),
        ("ada proposed, bob proposed", "rejected", "ada rejected, bob proposed"),
        ("ada proposed, bob personal", "rejected", "ada rejected, bob personal"),
        ("ada proposed, bob confirmed", "rejected", "ada rejected, bob confirmed"),
        ("ada proposed, bob rejected", "rejected", "ada rejected, bob rejected"),
        ("ada personal, ada rejected", "MemoryNotFound", "="),
    ],
    # Deleting a proposal removes it and returns it as it was.
    "decide delete": [
        ("", "MemoryNotFound", "="),
        ("ada personal", "MemoryNotFound", "="),
        ("ada proposed", "proposed", ""),
        ("ada confirmed", "AlreadyDecided", "="),
        ("ada rejected", "AlreadyDecided", "="),
        ("ada proposed, bob proposed", "proposed", "bob proposed"),
        ("ada proposed, bob personal", "proposed", "bob personal"),
        ("ada proposed, bob confirmed", "proposed", "bob confirmed"),
        ("ada proposed, bob rejected", "proposed", "bob rejected"),
        ("ada personal, ada rejected", "MemoryNotFound", "="),
    ],
    # An administrator deletes any account fact outright; personal memories do not exist for them.
    "delete": [
        ("", "MemoryNotFound", "="),
        ("ada personal", "MemoryNotFound", "="),
        ("ada proposed", "None", ""),
        ("ada confirmed", "None", ""),
        ("ada rejected", "None", ""),
        ("ada proposed, bob proposed", "None", "bob proposed"),
        ("ada proposed, bob personal", "None", "bob personal"),
        ("ada proposed, bob confirmed", "None", "bob confirmed"),
        ("ada proposed, bob rejected", "None", "bob rejected"),
        ("ada personal, ada rejected", "MemoryNotFound", "="),
    ],
    # The command line deletes any memory of the organisation.
    "delete on the command line": [
        ("", "MemoryNotFound", "="),
        ("ada personal", "None", ""),
        ("ada proposed", "None", ""),
        ("ada confirmed", "None", ""),
        ("ada rejected", "None", ""),
        ("ada proposed, bob proposed", "None", "bob proposed"),
        ("ada proposed, bob personal", "None", "bob personal"),
        ("ada proposed, bob confirmed", "None", "bob confirmed"),
        ("ada proposed, bob rejected", "None", "bob rejected"),
        ("ada personal, ada rejected", "None", "ada rejected"),
    ],
    # A decision is undone, unless whoever stated the fact holds another one under the key by now.
    "reopen": [
        ("", "MemoryNotFound", "="),
        ("ada personal", "MemoryNotFound", "="),
        ("ada proposed", "NotDecided", "="),
        ("ada confirmed", "proposed", "ada proposed"),
        ("ada rejected", "proposed", "ada proposed"),
        ("ada confirmed, bob proposed", "proposed", "ada proposed, bob proposed"),
        ("ada confirmed, bob personal", "proposed", "ada proposed, bob personal"),
        ("ada rejected, bob confirmed", "proposed", "ada proposed, bob confirmed"),
        ("ada rejected, bob rejected", "proposed", "ada proposed, bob rejected"),
        ("ada personal, bob confirmed", "MemoryNotFound", "="),
    ],
    "reopen the rejected": [("ada personal, ada rejected", "KeyTaken", "=")],
}

# What people do with their own, on Ada's row as above.
OWNER_CALLS: dict[str, list[Case]] = {
    # Held rows only, own rows only.
    "delete own": [
        ("", "MemoryNotFound", "="),
        ("ada personal", "None", ""),
        ("ada proposed", "None", ""),
        ("ada confirmed", "MemoryNotFound", "="),
        ("ada rejected", "MemoryNotFound", "="),
        ("ada proposed, bob proposed", "None", "bob proposed"),
        ("ada personal, bob confirmed", "None", "bob confirmed"),
        ("ada personal, ada rejected", "None", "ada rejected"),
    ],
    "delete all own": [
        ("", "0", "="),
        ("ada personal", "1", ""),
        ("ada proposed", "1", ""),
        ("ada confirmed", "0", "="),
        ("ada rejected", "0", "="),
        ("ada proposed, bob proposed", "1", "bob proposed"),
        ("ada personal, bob confirmed", "1", "bob confirmed"),
        ("ada personal, ada rejected", "1", "ada rejected"),
    ],
    # A rejected fact of one's own becomes personal under the rules of `remember`; the rejected row stays.
    "keep": [
        ("", "MemoryNotFound", "="),
        ("ada personal", "MemoryNotFound", "="),
        ("ada proposed", "MemoryNotFound", "="),
        ("ada confirmed", "MemoryNotFound", "="),
        ("ada rejected", "personal", "ada personal, ada rejected"),
        ("ada rejected, bob proposed", "personal", "ada personal, ada rejected, bob proposed"),
        ("ada rejected, bob confirmed", "KeyAlreadyConfirmed", "="),
        ("ada rejected, bob rejected", "personal", "ada personal, ada rejected, bob rejected"),
    ],
    "keep the rejected": [
        ("ada personal, ada rejected", "personal", "="),
        ("ada personal, ada rejected, bob confirmed", "personal", "="),
    ],
}


@pytest.fixture(scope="module")
def shop(databases: Databases) -> Iterator[Shop]:
    with databases.migrated() as url, opened(url) as database:
        clock = Clock()
        personas = create_personas(database, clock=clock)
        shop = Shop(database, AgentMemoryManager(database, clock=clock), personas, clock)
        shop.set_limits(
            memory_limit=MANY, memory_characters=MANY, proposal_limit=MANY,
            account_fact_limit=MANY, account_fact_characters=MANY,
        )  # fmt: skip
        personas.directory.deactivate(shop.add_person("retired", "administrator"))
        yield shop
        assert_invariants(database)


@pytest.fixture
def key(numbers: Iterator[int]) -> str:
    return f"key_{next(numbers)}"


@pytest.fixture(scope="module")
def numbers() -> Iterator[int]:
    return itertools.count(1)


def cases(table: dict[str, list[Case]]) -> list[Any]:
    return [
        pytest.param(call, *case, id=f"{call}-{case[0] or 'nothing'}")
        for call, rows in table.items()
        for case in rows
    ]


@pytest.mark.parametrize(("call", "state", "outcome", "after"), cases(AGENT_CALLS))
def test_what_an_agents_call_does(
    shop: Shop, key: str, call: str, state: str, outcome: str, after: str
) -> None:
    shop.build(key, state)
    assert shop.say(call, key) == outcome
    assert shop.describe(key) == (state if after == "=" else after)


@pytest.mark.parametrize("call", ["remember", "propose", "forget"])
def test_the_tables_leave_no_state_out(call: str) -> None:
    assert sorted(state for state, _, _ in AGENT_CALLS[call]) == sorted(STATES)


@pytest.mark.parametrize(("call", "state", "outcome", "after"), cases(ADMINISTRATOR_CALLS))
def test_what_an_administrators_call_does(
    shop: Shop, key: str, call: str, state: str, outcome: str, after: str
) -> None:
    shop.build(key, state)
    assert shop.do(call, key) == outcome
    assert shop.describe(key) == (state if after == "=" else after)


@pytest.mark.parametrize(("call", "state", "outcome", "after"), cases(OWNER_CALLS))
def test_what_an_owners_call_does(
    shop: Shop, key: str, call: str, state: str, outcome: str, after: str
) -> None:
    # What the cases before left to Ada would count too.
    shop.manager.delete_own_memories(shop.person("ada"))
    shop.build(key, state)
    assert shop.do(call, key, "ada") == outcome
    assert shop.describe(key) == (state if after == "=" else after)


@pytest.mark.parametrize(("state", "adas", "bobs"), RECALLED)
def test_what_an_agent_recalls(shop: Shop, key: str, state: str, adas: str, bobs: str) -> None:
    shop.build(key, state)
    assert shop.recalled(key, "ada") == adas
    assert shop.recalled(key, "bob") == bobs
    assert shop.recalled(key, "ada", "travel") == "|"
    assert shop.recalled(key, "eve") == "|"


# The administrator of another organisation is none here, and an own id of theirs leads nowhere: not there at
# all, whatever the row is. A member and somebody who left decide nothing either.
@pytest.mark.parametrize("state", ["", "ada personal", "ada proposed", "ada confirmed", "ada rejected"])
@pytest.mark.parametrize("call", ["confirm", "reject", "decide delete", "delete", "reopen"])
@pytest.mark.parametrize(
    ("caller", "organisation", "outcome"),
    [
        ("eve", "acme", "NotAnAdministrator"),
        ("eve", "globex", "MemoryNotFound"),
        ("root", "globex", "NotAnAdministrator"),
        ("bob", "acme", "NotAnAdministrator"),
        ("ada", "acme", "NotAnAdministrator"),
        ("retired", "acme", "NotAnAdministrator"),
    ],
)
def test_nobody_else_decides(
    shop: Shop, key: str, call: str, state: str, caller: str, organisation: str, outcome: str
) -> None:
    shop.build(key, state)
    assert shop.do(call, key, caller, organisation) == outcome
    assert shop.describe(key) == state
