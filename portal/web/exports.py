"""Everything about the person who is signed in, to take away: as JSON, and as CSV for spreadsheets.

Both go out while they are read, a memory at a time, and neither leaves one out. The JSON holds every text as
it is. In the CSV a cell that a spreadsheet might run as a formula begins with an apostrophe instead, and so
does one that began with an apostrophe anyway: taking one away always gives the text back.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from flask import Blueprint, Response

from portal.models import Profile
from portal.recall import format_time
from portal.reports import ExportedMemory
from portal.web.auth import me
from portal.web.services import services

# Excel takes a file without this mark for text in the code page of its country.
BYTE_ORDER_MARK = "\ufeff"

# Spreadsheets drop leading spaces, Japanese ones read the full-width signs too, and whoever cuts the file at
# line breaks makes the second line of a cell the beginning of another one.
_FORMULA = re.compile(r"(?:\A|[\n\r\u2028\u2029])\s*[=+\-@＝＋－＠]|\A[\t\r']")  # noqa: RUF001 - so meant

exports = Blueprint("exports", __name__, url_prefix="/me")

Values = Mapping[str, str | int | None]


@exports.get("/export.json")
def as_json() -> Response:
    now = format_time(services().clock())
    return download(json_text(me(), now, services().reports.export_person(me())), "application/json", "json")


@exports.get("/export.csv")
def as_csv() -> Response:
    return download(csv_text(services().reports.export_person(me())), "text/csv", "csv")


def download(chunks: Iterator[str], mimetype: str, ending: str) -> Response:
    # The first part is made here, where a database that does not answer can still be told with a page.
    answer = Response(chain([next(chunks)], chunks), mimetype=mimetype)
    name = f"agent-memory-{services().clock():%Y-%m-%d}.{ending}"
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    return answer


def json_text(person: Profile, now: str, exported: Iterable[ExportedMemory]) -> Iterator[str]:
    """Write the export as one JSON object, with a memory a line."""
    memories = (json.dumps(values(each), ensure_ascii=False) for each in exported)
    first = next(memories, None)
    head = json.dumps({"exported_at": now, "person": about(person)}, ensure_ascii=False, indent=1)
    yield head.removesuffix("\n}") + ',\n "memories": ['
    if first is not None:
        yield f"\n  {first}"
    yield from (f",\n  {memory}" for memory in memories)
    yield "\n ]\n}\n"


def csv_text(exported: Iterable[ExportedMemory]) -> Iterator[str]:
    """Write the memories as a table whose cells are all quoted, and none of which is a formula."""
    rows = map(values, exported)
    first = next(rows, None)
    yield BYTE_ORDER_MARK + csv_line(COLUMNS)
    if first is not None:
        yield csv_line(first.values())
    yield from (csv_line(row.values()) for row in rows)


def csv_line(cells: Iterable[str | int | None]) -> str:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL).writerow([inert("" if cell is None else cell) for cell in cells])
    return line.getvalue()


def inert(cell: str | int) -> str | int:
    """Return what no spreadsheet takes for a formula."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.search(cell) else cell


def about(person: Profile) -> Values:
    last = person.last_signed_in_at
    return {
        "name": person.name,
        "email": person.email,
        "organisation": person.organisation.name,
        "role": person.role,
        "created_at": format_time(person.created_at),
        "last_signed_in_at": None if last is None else format_time(last),
    }


COLUMNS = (
    "agent",
    "agent_title",
    "key",
    "content",
    "status",
    "version",
    "stated_at",
    "created_at",
    "updated_at",
    "decided_at",
    "decided_by",
    "decision_reason",
)


def values(exported: ExportedMemory) -> Values:
    """Return what is known of a memory, in the order of the columns."""
    memory, definition = exported.memory, exported.definition
    found = (
        definition.name,
        definition.title,
        memory.memory_key,
        memory.content,
        memory.status,
        memory.version,
        format_time(memory.stated_at),
        format_time(memory.created_at),
        format_time(memory.updated_at),
        None if memory.decided_at is None else format_time(memory.decided_at),
        None if memory.decided_by is None else memory.decided_by.name,
        memory.decision_reason or None,
    )
    return dict(zip(COLUMNS, found, strict=True))
