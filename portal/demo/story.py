"""What a demo's story is made of: people, kinds of agents, and what was said and decided, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Role = Literal["member", "administrator"]


@dataclass(frozen=True)
class Person:
    """Somebody of the organisation."""

    email: str
    name: str
    role: Role = "member"


@dataclass(frozen=True)
class Kind:
    """A kind of agent that the organisation offers; see ``Directory.define_agent``."""

    name: str
    title: str
    description: str
    memory_limit: int | None = None
    second_person_required: bool | None = None


@dataclass(frozen=True)
class Remembered:
    """An agent of ``owner`` records something about them."""

    days_ago: float
    owner: Person
    kind: Kind
    key: str
    content: str


@dataclass(frozen=True)
class Proposed(Remembered):
    """An agent of ``owner`` proposes a fact about the account."""


@dataclass(frozen=True)
class Decided:
    """An administrator decides on what ``owner`` had proposed."""

    days_ago: float
    by: Person
    action: Literal["confirm", "reject"]
    owner: Person
    kind: Kind
    key: str
    reason: str = ""


Step = Remembered | Decided


@dataclass(frozen=True)
class Story:
    """An organisation and what happened in it, the oldest first."""

    name: str
    slug: str
    people: Sequence[Person]
    kinds: Sequence[Kind]
    steps: Sequence[Step]
