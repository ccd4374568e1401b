"""A database with something of everything in it: two organisations, every status, every kind of actor."""

from __future__ import annotations

from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.models import AgentMemory, Organisation
from portal.sign_in import SignIn
from tests.factories import PASSWORD, Personas, create_personas
from tests.quick_passwords import give_everybody_a_password

TRICKY = 'Zeile eins\nline "two"\t\u2028 田中さん \N{GRINNING FACE} <b>&amp;</b>'


def furnish(database: Database) -> Personas:
    """Fill an empty database."""
    personas = create_personas(database)
    give_everybody_a_password(database)
    manager = AgentMemoryManager(database)
    ada, eve = personas.agent(personas.ada), personas.agent(personas.eve, "travel")
    manager.remember(ada, "greeting", TRICKY)
    for key in ("hours", "refunds", "tide_tables", "phone"):
        manager.propose_account_fact(ada, key, f"All about {key}")
    manager.remember(ada, "phone", "Her own number")
    manager.forget(ada, "phone")
    manager.decide_account_fact(
        find(manager, personas.acme, "hours"), personas.acme, personas.root, "confirm"
    )
    manager.decide_account_fact(
        find(manager, personas.acme, "refunds"), personas.acme, personas.root, "reject", reason=TRICKY
    )
    manager.remember(eve, "seat", "By the window")
    SignIn(database).sign_in(personas.ada.email, PASSWORD, "192.0.2.1")
    return personas


def find(manager: AgentMemoryManager, organisation: Organisation, key: str) -> int:
    """Return the id of the proposal under a key."""
    waiting: list[AgentMemory] = [*manager.find_proposed_account_facts(organisation, "support")]
    [found] = [memory.id for memory in waiting if memory.memory_key == key]
    return found
