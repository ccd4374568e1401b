from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from portal.cli import MODULES, main
from portal.database import Database
from portal.directory import Directory
from portal.models import Profile
from portal.passwords import verify_password
from portal.values import utc_now
from tests.addresses import eventually_answers, free_port
from tests.directory.rows import sign_in, signed_in
from tests.factories import Personas, create_personas

ROOT = Path(__file__).parent.parent
KEY = "a3N0b3AgdGhlIHByZXNzZXMsIHRoaXMgaXMgYSBrZXk"


def run(database: Database, *arguments: str, input: str | None = None) -> Result:  # noqa: A002 - click's name
    return CliRunner().invoke(main, arguments, input=input, env={"PORTAL_DATABASE_URL": database.url})


def succeed(database: Database, *arguments: str, input: str | None = None) -> str:  # noqa: A002 - as above
    result = run(database, *arguments, input=input)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def find(database: Database, email: str) -> Profile:
    found = Directory(database).find_profile(email)
    assert found is not None
    return found


@pytest.fixture
def personas(database: Database) -> Personas:
    return create_personas(database)


def test_an_installation_is_set_up_from_an_empty_database(database_url: str) -> None:
    database = Database(database_url)
    assert succeed(database, "upgrade") == "The schema is up to date.\n"
    succeed(database, "organisation", "add", "acme", "--name", "Acme")
    succeed(database, "definition", "add", "support", "--organisation", "acme", "--memory-limit", "1")
    succeed(
        database,
        *("profile", "add", "ada@acme.example", "--organisation", "acme", "--name", "Ada"),
        input="open sesame\n",
    )
    answer = succeed(database, *acting("remember"), "Preferred Language", "Answers in German")
    assert json.loads(answer)["memory"]["key"] == "preferred_language"
    assert verify_password(find(database, "ada@acme.example").password_hash, "open sesame")
    database.dispose()


def acting(call: str, **changed: str) -> list[str]:
    options = {"owner": "ada@acme.example", "definition": "support"} | changed
    return ["memory", call, *(f"--{name}={value}" for name, value in options.items())]


@pytest.mark.usefixtures("personas")
def test_a_persons_agent_remembers_proposes_lists_and_forgets(database: Database) -> None:
    succeed(database, *acting("remember"), "nickname", "Adele")
    succeed(database, *acting("propose"), "office", "Fifth floor")
    listed = json.loads(succeed(database, *acting("list")))
    assert {memory["key"]: memory["status"] for memory in listed["memories"]} == {
        "nickname": "personal",
        "office": "proposed",
    }
    forgotten = json.loads(succeed(database, *acting("forget"), "nickname"))
    assert forgotten["outcome"] == "forgotten"


@pytest.mark.usefixtures("personas")
def test_an_answer_is_printed_as_it_is(database: Database) -> None:
    succeed(database, *acting("remember"), "greeting", "Grüß Gott, 田中さん")
    assert '"content":"Grüß Gott, 田中さん"' in succeed(database, *acting("list")).replace(": ", ":")


@pytest.mark.usefixtures("personas")
def test_a_refused_call_prints_its_answer_and_ends_with_one(database: Database) -> None:
    result = run(database, *acting("forget"), "nickname")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"] == "not_found"
    assert result.stderr == ""


def test_people_are_changed_by_their_address(database: Database, personas: Personas) -> None:
    succeed(database, "profile", "role", "ADA@acme.example", "administrator")
    succeed(database, "profile", "deactivate", "bob@acme.example")
    assert find(database, "ada@acme.example").is_administrator
    assert not find(database, "bob@acme.example").active
    succeed(database, "profile", "activate", "bob@acme.example")
    assert find(database, "bob@acme.example").active
    succeed(database, "profile", "erase", "bob@acme.example", "--yes")
    assert personas.directory.find_profile("bob@acme.example") is None


def test_people_get_one_time_links_for_the_portal(database: Database, personas: Personas) -> None:
    invited = succeed(
        database,
        *("profile", "invite", "zoe@acme.example", "--organisation", "acme"),
        *("--name", "Zoë", "--role", "administrator"),
    )
    again = succeed(database, "profile", "link", "ZOE@acme.example")
    tokens = []
    for printed in (invited, again):
        address, words = printed.splitlines()
        assert address.startswith("http://127.0.0.1:8000/welcome/")
        assert words.startswith("Hand it to zoe@acme.example. It works once, until 2")
        tokens.append(address.rpartition("/")[2])
    assert personas.directory.find_link(tokens[0]) is None
    found = personas.directory.find_link(tokens[1])
    assert found is not None
    assert (found.name, found.is_administrator) == ("Zoë", True)


def test_people_are_listed_and_signed_out(database: Database, personas: Personas) -> None:
    sign_in(database, personas.ada, utc_now())
    personas.directory.deactivate(personas.bob)
    listed = succeed(database, "profile", "list", "--organisation", "acme")
    assert [line.split("\t") for line in listed.splitlines()] == [
        ["ada@acme.example", "member", "without a password", "never", "Ada"],
        ["bob@acme.example", "member", "deactivated", "never", "Bob"],
        ["root@acme.example", "administrator", "without a password", "never", "Root"],
    ]
    succeed(database, "profile", "end-sessions", "ada@acme.example")
    assert signed_in(database) == []


def test_a_link_is_made_for_an_address_that_can_be_one(database: Database, personas: Personas) -> None:
    environment = {"PORTAL_DATABASE_URL": database.url, "PORTAL_PUBLIC_URL": "memory.example"}
    done = CliRunner().invoke(main, ["profile", "link", "ada@acme.example"], env=environment)
    assert (done.exit_code, "PORTAL_PUBLIC_URL" in done.stderr) == (2, True)
    ada = personas.directory.find_person(personas.acme, personas.ada.id)
    assert ada is not None
    assert ada.link_expires_at is None


@pytest.mark.usefixtures("personas")
def test_erasing_asks_first(database: Database) -> None:
    result = run(database, "profile", "erase", "bob@acme.example", input="n\n")
    assert result.exit_code == 1
    assert find(database, "bob@acme.example").active
    run(database, "profile", "erase", "bob@acme.example", input="y\n")
    assert Directory(database).find_profile("bob@acme.example") is None


@pytest.mark.usefixtures("personas")
def test_a_password_is_one_line_of_standard_input(database: Database) -> None:
    succeed(database, "profile", "password", "ada@acme.example", input=" two  words \r\nignored\n")
    assert verify_password(find(database, "ada@acme.example").password_hash, " two  words ")
    succeed(database, "profile", "password", "ada@acme.example", "--none")
    assert find(database, "ada@acme.example").password_hash is None


@pytest.mark.usefixtures("personas")
def test_a_person_can_be_added_without_a_password_and_as_an_administrator(database: Database) -> None:
    succeed(
        database,
        *("profile", "add", "zoe@acme.example", "--organisation", "acme", "--name", "Zoë"),
        *("--role", "administrator", "--no-password"),
    )
    zoe = find(database, "zoe@acme.example")
    assert (zoe.name, zoe.is_administrator, zoe.password_hash) == ("Zoë", True, None)


def test_a_definition_is_added_and_what_is_given_is_changed(database: Database, personas: Personas) -> None:
    options = [
        *("--title", "Claims desk", "--description", "Handles claims", "--memory-limit", "1"),
        *("--memory-characters", "2", "--proposal-limit", "3", "--account-fact-limit", "4"),
        *("--account-fact-characters", "5", "--second-person-required"),
    ]
    succeed(database, "definition", "add", "claims", "--organisation", "acme", *options)
    succeed(database, "definition", "set", "claims", "--organisation", "acme", "--memory-limit", "9")
    claims = personas.directory.find_definition(personas.acme, "claims")
    assert claims is not None
    assert (claims.title, claims.description, claims.second_person_required) == (
        "Claims desk",
        "Handles claims",
        True,
    )
    assert (claims.memory_limit, claims.memory_characters, claims.proposal_limit) == (9, 2, 3)
    assert (claims.account_fact_limit, claims.account_fact_characters) == (4, 5)


# Every refusal is one line on standard error and exit status 2, and changes nothing.
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["organisation", "add", "acme", "--name", "Acme"], "slug: this is already taken"),
        (["organisation", "add", "AC ME", "--name", "Acme"], "slug: use 1 to 64 characters"),
        (["profile", "role", "root@acme.example", "member"], "last active administrator"),
        (["profile", "role", "nobody@acme.example", "member"], "nobody has this address"),
        (["profile", "password", "ada@acme.example"], "password: give a password"),
        (
            ["profile", "add", "x@acme.example", "--organisation", "nowhere", "--name", "X"],
            "no organisation has this slug",
        ),
        (["definition", "add", "support", "--organisation", "acme"], "name: this is already taken"),
        (["definition", "add", "people", "--organisation", "acme"], "name: this name is reserved"),
        (["definition", "set", "claims", "--organisation", "acme"], "no agent definition of this name"),
        (["definition", "set", "support", "--organisation", "acme", "--memory-limit", "-1"], "memory_limit"),
        (acting("list", owner="nobody@acme.example"), "nobody has this address"),
        (acting("list", definition="claims"), "no agent definition of that name"),
        (["upgrade", "--database", "mysql://nowhere"], "database_url"),
    ],
)
@pytest.mark.usefixtures("personas")
def test_a_command_that_cannot_be_carried_out_says_why_in_one_line(
    database: Database, arguments: list[str], problem: str
) -> None:
    result = run(database, *arguments, input="")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert problem in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_a_database_without_a_schema_is_to_be_upgraded_first(database_url: str) -> None:
    database = Database(database_url)
    result = run(database, "organisation", "add", "acme", "--name", "Acme")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "run `portal upgrade` first" in result.stderr
    database.dispose()


def test_asking_a_database_file_that_is_not_there_does_not_create_it(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, [*acting("list"), "--database", f"sqlite:///{tmp_path}/portal.db"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["upgrade"], acting("list")])
def test_a_database_that_does_not_answer_is_one_line(arguments: list[str]) -> None:
    url = "postgresql+psycopg://nobody@127.0.0.1:1/nothing"
    result = CliRunner().invoke(main, [*arguments, "--database", url])
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: the database cannot be used: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["upgrade"], acting("list")])
def test_a_file_that_is_no_database_is_one_line(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "portal.db").write_text("This is a shopping list.\n" * 100)
    result = CliRunner().invoke(main, [*arguments, "--database", f"sqlite:///{tmp_path}/portal.db"])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


def test_the_option_wins_over_the_environment(tmp_path: Path) -> None:
    arguments = ["upgrade", "--database", f"sqlite:///{tmp_path}/chosen.db"]
    CliRunner().invoke(main, arguments, env={"PORTAL_DATABASE_URL": f"sqlite:///{tmp_path}/other.db"})
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".db"] == ["chosen.db"]


def test_the_database_url_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "url").write_text(f"sqlite:///{tmp_path}/from-file.db\n")
    CliRunner().invoke(main, ["upgrade"], env={"PORTAL_DATABASE_URL_FILE": str(tmp_path / "url")})
    assert (tmp_path / "from-file.db").exists()


def serve(*arguments: str, **variables: str) -> Result:
    return CliRunner().invoke(main, ["serve", *arguments], env=variables)


def test_serving_without_a_secret_key_says_how_to_make_one(tmp_path: Path) -> None:
    result = serve("--database", f"sqlite:///{tmp_path}/portal.db")
    assert result.exit_code == 2
    assert "PORTAL_SECRET_KEY" in result.stderr
    assert "secrets.token_urlsafe(48)" in result.stderr


def test_serving_without_a_schema_is_refused(tmp_path: Path) -> None:
    result = serve("--database", f"sqlite:///{tmp_path}/portal.db", PORTAL_SECRET_KEY=KEY)
    assert result.exit_code == 2
    assert "run `portal upgrade` first" in result.stderr


def test_serving_answers_until_it_is_told_to_end(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/portal.db"
    CliRunner().invoke(main, ["upgrade", "--database", url])
    port = free_port()
    command = [sys.executable, "-c", "from portal.cli import main; main()"]
    arguments = ["serve", "--bind", f"127.0.0.1:{port}", "--workers", "1", "--database", url]
    environment = os.environ | {"PORTAL_SECRET_KEY": KEY, "PORTAL_DATABASE_URL": "sqlite:////nowhere/else.db"}
    with subprocess.Popen([*command, *arguments], env=environment, stderr=subprocess.DEVNULL) as server:
        assert eventually_answers(port)
        server.terminate()
        assert server.wait(timeout=30) == 0


def load_wsgi(**variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PORTAL_")}
    command = [sys.executable, "-c", "import wsgi; print(wsgi.app.name)"]
    return subprocess.run(
        command, env=environment | variables, cwd=ROOT, check=False, capture_output=True, text=True
    )


def test_any_wsgi_server_can_load_the_portal() -> None:
    assert load_wsgi(PORTAL_SECRET_KEY=KEY).stdout == "portal.web\n"


def test_without_a_secret_key_a_wsgi_server_is_told_how_to_make_one() -> None:
    loaded = load_wsgi()
    assert loaded.returncode == 1
    assert "secrets.token_urlsafe(48)" in loaded.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", sorted(MODULES))
def test_no_command_loads_a_web_framework(command: str) -> None:
    assert loaded_for(command, {"flask", "werkzeug", "jinja2"}) == "set()\n"


def test_the_demo_starts_its_server_before_it_loads_the_core() -> None:
    assert loaded_for("demo", {"sqlalchemy", "alembic", "portal.manager"}) == "set()\n"


def loaded_for(command: str, modules: set[str]) -> str:
    """Return which of these modules are loaded in a process that prints the help of a command."""
    program = f"""\
import sys
from portal.cli import MODULES, main
main([{command!r}, "--help"], standalone_mode=False)
print({modules!r} & set(sys.modules))"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return done.stdout.splitlines(keepends=True)[-1]


@pytest.mark.usefixtures("personas")
def test_at_a_terminal_a_password_is_asked_for_twice_and_not_shown(database: Database) -> None:
    command = [sys.executable, "-c", "from portal.cli import main; main()"]
    arguments = ["profile", "password", "ada@acme.example", "--database", database.url]
    shown = type_at_terminal([*command, *arguments], ["open sesame\n", "open sesame\n"])
    assert verify_password(find(database, "ada@acme.example").password_hash, "open sesame")
    assert "Password" in shown
    assert "open sesame" not in shown


def type_at_terminal(command: list[str], lines: list[str]) -> str:
    """Run a command at a terminal of its own, answer each of its questions, and return what it showed."""
    ours, theirs = pty.openpty()
    # A session without a terminal takes the first one that it opens for its own.
    opener = "import os, sys; os.open(os.ttyname(0), os.O_RDWR); os.execv(sys.argv[1], sys.argv[1:])"
    options: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
    with subprocess.Popen([sys.executable, "-c", opener, *command], **options) as process:
        os.close(theirs)
        shown = ""
        try:
            while text := os.read(ours, 1_024).decode():
                shown += text
                if text.rstrip().endswith(":") and lines:
                    os.write(ours, lines.pop(0).encode())
        except OSError:
            pass  # Linux reports the end of a terminal as an input/output error.
        assert process.wait() == 0
    os.close(ours)
    return shown
