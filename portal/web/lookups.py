"""What an address names, for whoever is signed in. Anything else, foreign or missing, is the same 404."""

from __future__ import annotations

from typing import TypeVar

from flask import abort

from portal.directory import Person
from portal.models import AgentDefinition, AgentMemory
from portal.review_page import ReviewPage
from portal.review_queue import QueueQuestion
from portal.web.auth import me
from portal.web.services import services

Found = TypeVar("Found")


def get_definition(name: str) -> AgentDefinition:
    """Return a definition of the organisation."""
    return _or_404(services().directory.find_definition(me().organisation, name))


def get_review_page(asked: QueueQuestion) -> ReviewPage:
    """Return a page of the review queue of a definition of the organisation."""
    return _or_404(services().reports.find_review_page(me().organisation, asked))


def get_account_fact(memory_id: int, definition: str) -> AgentMemory:
    """Return an account fact of that definition."""
    return _or_404(services().reports.find_account_fact(memory_id, me().organisation, definition))


def get_own_memory(memory_id: int, definition: str) -> AgentMemory:
    """Return what this person's agent holds, or a rejected fact that they stated."""
    return _or_404(services().reports.find_own_memory(memory_id, me(), definition))


def get_person(profile_id: int) -> Person:
    """Return somebody in the organisation."""
    return _or_404(services().directory.find_person(me().organisation, profile_id))


def _or_404(found: Found | None) -> Found:
    if found is None:
        abort(404)
    return found
