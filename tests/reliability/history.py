"""What a history of calls and answers, and the table at its end, say about the promises."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Row

from portal.values import ActorKind, Status
from tests.invariants import HELD, State
from tests.reliability.hammer import LIMITS, Line

STORED = {"created", "replaced", "unchanged"}
CHANGES = {"created", "replaced", "forgotten", "done"}

# The event that a call of an agent writes when it changes something.
ACTIONS = {"remember": {"remembered", "withdrawn"}, "propose": {"proposed"}, "forget": {"forgotten"}}
DECISIONS = {"confirm": "confirmed", "reject": "rejected", "reopen": "reopened", "delete": "deleted"}


def find_faults(history: Sequence[Line], now: State) -> list[str]:
    """Return every way in which a promise was broken, each with the promise's number."""
    return [
        *errors(history),
        *double_keys(history, now),
        *broken_ceilings(history, now),
        *several_winners(history, now),
        *lost_updates(history, now),
        *stale_readings(history),
    ]


def errors(history: Sequence[Line]) -> Iterator[str]:
    yield from (f"error: {line.word}" for line in history if line.word.startswith("fault"))


def double_keys(history: Sequence[Line], now: State) -> Iterator[str]:
    """I-3: neither the table nor anything that was read has a key twice in one scope."""
    places = Counter((row.definition_id, row.scope_id, row.memory_key) for row in now.memories.values())
    yield from (f"I-3: {place} is there twice" for place, number in places.items() if number > 1)
    for line in history:
        for shelf in ("memories", "account_facts"):
            keys = [each["key"] for each in (line.reading or {}).get(shelf, [])]
            if len(set(keys)) < len(keys):
                yield f"I-3: {line.caller} read a key twice"


def broken_ceilings(history: Sequence[Line], now: State) -> Iterator[str]:
    """I-4: nothing that was read or told at any moment is above its limit, and nothing at the end."""
    for line in history:
        usage = (line.reading or {}).get("usage", {})
        for used, limit in (
            ("memories", "memory_limit"),
            ("characters", "character_limit"),
            ("proposals", "proposal_limit"),
        ):
            if usage and usage[used] > usage[limit]:
                yield f"I-4: {usage[used]} {used} of {usage[limit]}"
        facts = (line.reading or {}).get("account_facts", [])
        if len(facts) > LIMITS["account_fact_limit"]:
            yield f"I-4: {len(facts)} account facts were read"
        if sum(len(fact["content"]) for fact in facts) > LIMITS["account_fact_characters"]:
            yield "I-4: too many characters in account facts were read"
    yield from broken_ceilings_at_the_end(now)


def broken_ceilings_at_the_end(now: State) -> Iterator[str]:
    held: dict[int, list[Row[Any]]] = defaultdict(list)
    for row in now.memories.values():
        if row.status in HELD:
            held[row.scope_id].append(row)
    for rows in held.values():
        if len(rows) > LIMITS["memory_limit"]:
            yield f"I-4: {len(rows)} memories"
        if sum(len(row.content) for row in rows) > LIMITS["memory_characters"]:
            yield "I-4: too many characters"
        if sum(row.status == Status.PROPOSED for row in rows) > LIMITS["proposal_limit"]:
            yield "I-4: too many proposals"


def several_winners(history: Sequence[Line], now: State) -> Iterator[str]:
    """I-9: of all decisions on one version of a memory one was made, and it is in the record."""
    won = [line for line in history if line.call in DECISIONS and line.word == "done"]
    winners = Counter((line.subject, line.version) for line in won)
    yield from (f"I-9: {number} winners on {place}" for place, number in winners.items() if number > 1)
    recorded = {
        (event.memory_id, event.version, event.action) for events in now.events.values() for event in events
    }
    for line in won:
        if (line.subject, line.version, DECISIONS[line.call]) not in recorded:
            yield f"I-9: the winner on {line.subject} is not in the record"


def lost_updates(history: Sequence[Line], now: State) -> Iterator[str]:
    """I-10: each change that was acknowledged is in the record once, at its version, and nothing else is."""
    told = Counter(
        (line.subject, line.version, line.call)
        for line in history
        if line.call in ACTIONS and line.word in {"created", "replaced"}
    )
    calls = {action: call for call, actions in ACTIONS.items() for action in actions}
    by_agents = [
        event for events in now.events.values() for event in events if event.actor_kind == ActorKind.AGENT
    ]
    recorded = Counter(
        (event.actor_id, event.version, calls[event.action])
        for event in by_agents
        if event.action != "forgotten"
    )
    yield from (f"I-10: {change} was told {told[change]} times" for change in told - recorded)
    yield from (f"I-10: {change} was not told" for change in recorded - told)
    forgotten = sum(line.word == "forgotten" for line in history)
    if forgotten != sum(event.action == "forgotten" for event in by_agents):
        yield "I-10: what was forgotten is not what the record says"
    yield from values_that_nobody_wrote(history, now)


def values_that_nobody_wrote(history: Sequence[Line], now: State) -> Iterator[str]:
    """I-10: what is there is what somebody was told is stored, and nobody overwrote it afterwards."""
    written = {
        (line.subject, line.key, line.content): line
        for line in history
        if line.call in ACTIONS and line.word in STORED and line.content
    }
    decided = contents_that_were_decided(history)
    for row in now.memories.values():
        write = written.get((row.stated_by_id, row.memory_key, row.content))
        if write is None:
            yield f"I-10: nobody was told that {row.id} is stored"
        elif row.status in HELD and row.content not in decided and superseded(write, history):
            yield f"I-10: {row.id} is a value that was overwritten"


def contents_that_were_decided(history: Sequence[Line]) -> set[str | None]:
    """What may come back, by reopening, after its stater wrote something else."""
    return {line.content for line in history if line.call in DECISIONS and line.word == "done"}


def superseded(write: Line, history: Sequence[Line]) -> bool:
    """Whether another write of the key began after this one had ended, and was acknowledged."""
    return any(
        line.began > write.ended
        and (line.subject, line.key) == (write.subject, write.key)
        and line.word in {"created", "replaced", "forgotten"}
        and line.content != write.content
        for line in history
    )


def stale_readings(history: Sequence[Line]) -> Iterator[str]:
    """I-10: nobody read a value that had been overwritten for certain when they began to read."""
    by_place: dict[tuple[int, str | None], list[Line]] = defaultdict(list)
    for line in history:
        if line.call in ACTIONS and line.word in CHANGES:
            by_place[line.subject, line.key].append(line)
    decided = contents_that_were_decided(history)
    for line in history:
        if line.call != "list" or line.reading is None:
            continue
        for memory in line.reading["memories"]:
            if memory["content"] in decided:
                continue
            writes = by_place[line.subject, memory["key"]]
            write = next((each for each in writes if each.content == memory["content"]), None)
            if write is None or write.began > line.ended:
                yield f"I-10: {line.caller} read what nobody had written"
            elif any(write.ended < each.began and each.ended < line.began for each in writes):
                yield f"I-10: {line.caller} read a value that was overwritten"
