"""A runtime and two workers of the portal live on one SQLite file, and none of them notices the others."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from portal.models import Profile
from tests.databases import SqliteFiles, opened
from tests.factories import PASSWORD, create_personas
from tests.invariants import assert_invariants
from tests.scale import at_scale
from tests.test_whole_job import FACT, MEMORY, Person, served

SECONDS = at_scale(60)

RUNTIME = """
import json, sys, time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from portal.manager import AgentMemoryManager

url, seconds, *agent_ids = sys.argv[1:]
manager = AgentMemoryManager.from_url(url)
end = time.monotonic() + float(seconds)

def work(agent_id):
    agent, told = manager.get_agent(int(agent_id)), Counter()
    for number in count():
        key, text = f"key {number % 60}", f"text {number}"
        for answer in (
            manager.remember(agent, key, text),
            manager.propose_account_fact(agent, f"fact {agent_id} {number}", text),
            manager.list(agent),
            manager.forget(agent, f"key {(number + 30) % 60}"),
        ):
            answer = json.loads(answer)
            told[answer.get("error") or answer.get("outcome") or "list"] += 1
        manager.prompt_block(agent)
        if time.monotonic() > end:
            return told

with ThreadPoolExecutor() as threads:
    print(json.dumps(sum(threads.map(work, agent_ids), Counter())))
manager.dispose()
"""


def test_a_runtime_and_two_workers_share_a_file_without_an_error(
    sqlite_files: SqliteFiles, tmp_path: Path
) -> None:
    with sqlite_files.migrated() as url, opened(url) as database:
        personas = create_personas(database, password=PASSWORD)
        ids = [personas.agent(owner).id for owner in (personas.ada, personas.bob)]
        command = [sys.executable, "-W", "error", "-c", RUNTIME, url, str(SECONDS), *map(str, ids)]
        with (
            served(url, tmp_path / "log") as address,
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as runtime,
            ThreadPoolExecutor() as people,
        ):
            visits = [
                people.submit(visit, address, personas.root, decide_the_oldest),
                people.submit(visit, address, personas.ada, delete_the_first),
            ]
            told, _ = runtime.communicate(timeout=SECONDS + 60)
            statuses = [done.result() for done in visits]
        assert runtime.returncode == 0
        assert_invariants(database)
    assert max(max(seen) for seen in statuses) < 500
    outcomes = json.loads(told)
    assert {"created", "forgotten", "list"} <= outcomes.keys() <= EXPECTED


EXPECTED = {
    *("created", "replaced", "forgotten", "list"),
    *("not_found", "limit_reached", "proposal_limit_reached"),
}


def visit(address: str, profile: Profile, do: Callable[[Person], int]) -> Counter[int]:
    """Do the same again and again until the time is over, at least three times, and count the statuses."""
    end = time.monotonic() + SECONDS
    person = Person(address)
    with person.browser:
        statuses = Counter([person.sign_in(profile).status_code])
        while time.monotonic() < end or statuses.total() < 4:
            statuses[do(person)] += 1
    return statuses


def decide_the_oldest(root: Person) -> int:
    """Confirm or reject what waits longest, as it was on the screen."""
    status = root.open("/admin/support/").status_code
    if not root.page.entries:
        return status
    key = root.page.keys[0]
    action = ("action", "confirm" if int(key.rpartition("_")[2]) % 2 else "reject")
    return root.submit(f"{root.link(key, FACT)}/decide", action).status_code


def delete_the_first(ada: Person) -> int:
    """Delete a memory, unless the agent has forgotten it in between."""
    status = ada.open("/me/support/").status_code
    own = [key for key in ada.keys if key.startswith("key")]
    if not own:
        return status
    delete = ada.link(own[0], f"{MEMORY}/delete")
    opened = ada.open(delete).status_code
    return ada.submit(delete).status_code if opened == 200 else opened
