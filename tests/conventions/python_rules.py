"""Rules for Python. Each takes a module's syntax tree and gives the numbers of the lines that break it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

PACKAGE = "portal"
LOADED_LATE = {"portal.cli.places", "portal.demo.seeding"}
"""What a function may import: the demo starts its server before it loads the core."""

ASSERTING_NAMES = ("assert_", "check_", "expect", "fail", "raises", "verify", "warns")


def conditional_asserts(tree: ast.Module) -> Iterator[int]:
    """`assert x == 200 if ok else 404` compares in one branch only, and 404 is always true."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.IfExp):
            yield node.lineno


def markup(tree: ast.Module) -> Iterator[int]:
    """`Markup` switches escaping off for what somebody else wrote."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute | ast.alias) and name_of(node) == "Markup":
            yield node.lineno


def naive_clocks(tree: ast.Module) -> Iterator[int]:
    """`utcnow` and `utcfromtimestamp` give times without a zone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in {"utcnow", "utcfromtimestamp"}:
            yield node.lineno


def rows_by_id_alone(tree: ast.Module) -> Iterator[int]:
    """`session.get(Model, id)` asks for a row without its organisation."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[model, *_]):
                if name_of(owner).endswith("session") and is_class_name(name_of(model)):
                    yield node.lineno


def broad_excepts(tree: ast.Module) -> Iterator[int]:
    """A bare or broad `except` hides faults that nobody thought of."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if any(kind is None or name_of(kind) in {"Exception", "BaseException"} for kind in caught):
                yield node.lineno


def hidden_imports(tree: ast.Module) -> Iterator[int]:
    """An import of ours inside a function hides an arrow between modules, or a circle of them."""
    for function in functions_of(tree):
        for node in ast.walk(function):
            if isinstance(node, ast.Import | ast.ImportFrom) and imports_ours(node) and not is_late(node):
                yield node.lineno


def idle_tests(tree: ast.Module) -> Iterator[int]:
    """A test that asserts nothing cannot fail."""
    functions = list(functions_of(tree))
    asserting: set[str] = set()
    # A helper of the same module may assert for a test, and a helper's helper for it.
    while more := {f.name for f in functions if f.name not in asserting and asserts(f, asserting)}:
        asserting |= more
    yield from (f.lineno for f in functions if f.name.startswith("test") and f.name not in asserting)


def mocks(tree: ast.Module) -> Iterator[int]:
    """A mock of our own code agrees with whatever the test believes."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) if any("mock" in alias.name.split(".") for alias in names):
                yield node.lineno
            case ast.ImportFrom(module="unittest.mock" | "mock"):
                yield node.lineno
            case ast.ImportFrom(module="unittest", names=names) if any(a.name == "mock" for a in names):
                yield node.lineno


EVERYWHERE = [conditional_asserts, markup, naive_clocks, broad_excepts, hidden_imports]
IN_THE_PACKAGE = [rows_by_id_alone]
IN_TESTS = [idle_tests, mocks]


def functions_of(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def name_of(node: ast.AST) -> str:
    """Return the last part of a dotted name, or nothing where the node is not a name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            return name
    return ""


def is_class_name(name: str) -> bool:
    return name[:1].isupper() and not name.isupper()


def imports_ours(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == PACKAGE for alias in node.names)
    return node.level > 0 or (node.module or "").split(".")[0] == PACKAGE


def is_late(node: ast.Import | ast.ImportFrom) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module in LOADED_LATE


def asserts(function: ast.AST, helpers: set[str]) -> bool:
    calls = (name_of(node.func) for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(isinstance(node, ast.Assert) for node in ast.walk(function)) or any(
        name in helpers or name.startswith(ASSERTING_NAMES) for name in calls
    )
