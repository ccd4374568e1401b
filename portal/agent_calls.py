"""What an agent may do: remember, propose, forget and list, within its own scope."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from portal import answers, prompt
from portal.changes import Change, remove_memory
from portal.contents import check_content
from portal.errors import InvalidContent, InvalidKey
from portal.holding import Held, NoRoom, UnderKey, find_rejected, find_under_key, hold
from portal.keys import canonical_key
from portal.models import Agent
from portal.policy import loss_of
from portal.recall import list_answer, list_answer_and_marker
from portal.scopes import LOCK_AGENT_ROW, id_of
from portal.values import EventAction, Status

if TYPE_CHECKING:
    from portal.database import Database
    from portal.transactions import DriverTransaction
    from portal.values import Clock


class AgentCalls:
    """The four calls that an agent makes, and the prompt block for its runtime. Each is a transaction.

    They answer with JSON text. What a model did wrong is an answer with ``"ok": false``; only a database
    that is down or a programming error raises.
    """

    _database: Database
    _clock: Clock

    def remember(self, agent: Agent, memory_key: object, content: object) -> str:
        """Record a fact about the agent's owner, replacing what the agent held under the key.

        A proposal under the key is withdrawn from review. A confirmed account fact under the key refuses
        a new memory (``already_confirmed``).

        :param agent: whose memory it is. Only its id is used; everything else is read from the row.
        :param memory_key: any text that :func:`portal.keys.canonical_key` accepts.
        :param content: any text that :func:`portal.contents.check_content` accepts.
        :returns: JSON: the memory and the usage, or why it was refused and what can be done.
        :raises TypeError: ``agent`` is no :class:`~portal.models.Agent`.
        """
        return self._store(agent, memory_key, content, Status.PERSONAL)

    def propose_account_fact(self, agent: Agent, memory_key: object, content: object) -> str:
        """Propose a fact about the account, for an administrator to confirm.

        It is stored at once and behaves like a memory of the agent's owner until then. A confirmed fact
        under the key is never overwritten (``already_confirmed``, with its content), and a rejected one
        closes the key (``already_rejected``). Arguments, answers and errors are those of
        :meth:`remember`.
        """
        return self._store(agent, memory_key, content, Status.PROPOSED)

    def forget(self, agent: Agent, memory_key: object) -> str:
        """Remove what the agent holds under a key. A confirmed account fact stays.

        :returns: JSON: ``forgotten``, or ``not_found``, or ``already_confirmed``.
        :raises TypeError: ``agent`` is no :class:`~portal.models.Agent`.
        """
        agent_id = id_of(agent, Agent)
        try:
            key = canonical_key(memory_key)
        except InvalidKey as exc:
            return answers.invalid_key(exc)
        return self._database.write_on_driver(lambda work: self._forget(work, agent_id, key))

    def list(self, agent: Agent) -> str:
        """Return everything that the agent recalls: its own memories and the confirmed account facts.

        Both arrays are sorted by key, nothing is cut, and the text is the same while nothing changes.
        One round of SQL; nothing is written.

        :raises TypeError: ``agent`` is no :class:`~portal.models.Agent`.
        """
        return list_answer(self._database, id_of(agent, Agent)) or answers.inactive_list()

    def prompt_block(self, agent: Agent) -> str:
        """Return what the agent should know at the start of a turn, ready to be put in a prompt.

        Confirmed account facts come first, then the person's own memories, then proposals, marked as
        unconfirmed: one line each, fenced as data (:mod:`portal.prompt`). The ceilings bound it and nothing
        is left out; the text is the same while nothing changes, so that prompt caches hold. For an agent
        that is not active any more it is one sentence that says so. One round of SQL; nothing is written.

        :raises TypeError: ``agent`` is no :class:`~portal.models.Agent`.
        """
        recalled = list_answer_and_marker(self._database, id_of(agent, Agent))
        if recalled is None:
            return prompt.INACTIVE_BLOCK
        answer, marker = recalled
        return prompt.render(json.loads(answer), marker=marker)

    def _store(self, agent: Agent, memory_key: object, content: object, status: Status) -> str:
        agent_id = id_of(agent, Agent)
        try:
            key = canonical_key(memory_key)
        except InvalidKey as exc:
            return answers.invalid_key(exc)
        try:
            text = check_content(content)
        except InvalidContent as exc:
            return answers.invalid_content(exc, key)
        done = self._database.write_on_driver(
            lambda work: self._store_checked(work, agent_id, key, text, status)
        )
        # Others can write while this is put into words.
        return answers.stored(done) if isinstance(done, Held) else done

    def _store_checked(
        self, work: DriverTransaction, agent_id: int, key: str, text: str, status: Status
    ) -> Held | str:
        under_key = _lock_and_read(work, agent_id, key)
        if under_key is None:
            return answers.inactive(key)
        is_proposal = status == Status.PROPOSED
        refusal = _refuse_proposal(work, under_key) if is_proposal else _refuse_memory(under_key)
        if refusal is not None:
            return refusal
        change = Change(under_key.action_for(status), under_key.owners_agent, self._clock())
        held = hold(work, change, under_key, text, status)
        return answers.ceiling_reached(held, key) if isinstance(held, NoRoom) else held

    def _forget(self, work: DriverTransaction, agent_id: int, key: str) -> str:
        under_key = _lock_and_read(work, agent_id, key)
        if under_key is None:
            return answers.inactive(key)
        if under_key.held is not None:
            change = Change(EventAction.FORGOTTEN, under_key.owners_agent, self._clock())
            remove_memory(work, change, under_key.held)
            notes = [answers.FACT_STAYS_NOTE] if under_key.confirmed is not None else []
            return answers.forgotten(key, under_key.usage.after(loss_of(under_key.held)), notes=notes)
        if under_key.confirmed is not None:
            return answers.already_confirmed(key, under_key.confirmed, answers.FORGET_CONFIRMED)
        return answers.not_found(key)


def _lock_and_read(work: DriverTransaction, agent_id: int, key: str) -> UnderKey | None:
    """Lock an agent and return what is under a key for it, or None where it may do nothing any more."""
    work.lock(LOCK_AGENT_ROW, {"agent_id": agent_id})
    under_key = find_under_key(work, agent_id, key)
    return under_key if under_key is not None and under_key.scope.is_active else None


def _refuse_memory(under_key: UnderKey) -> str | None:
    if under_key.held is None and under_key.confirmed is not None:
        return answers.already_confirmed(under_key.key, under_key.confirmed, answers.REMEMBER_CONFIRMED)
    return None


def _refuse_proposal(work: DriverTransaction, under_key: UnderKey) -> str | None:
    if under_key.confirmed is not None:
        return answers.already_confirmed(under_key.key, under_key.confirmed, answers.PROPOSE_CONFIRMED)
    rejected = find_rejected(work, under_key)
    if rejected is not None:
        return answers.already_rejected(rejected, is_own=under_key.is_own(rejected))
    return None
