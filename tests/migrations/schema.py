"""What a schema is, in words that can be compared: everything that the database itself knows of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlalchemy import Connection, text

from portal.database import Database

Schema = dict[str, object]

POSTGRESQL = {
    "column": """
        SELECT c.relname || '.' || a.attname,
            format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
                || coalesce(' COLLATE ' || quote_ident(l.collname), '')
                || coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')
        FROM pg_attribute a
        JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r'
        LEFT JOIN pg_collation l ON l.oid = a.attcollation
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped""",
    "constraint": """
        SELECT conname, conrelid::regclass || ' ' || pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace""",
    "index": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
}


def read_schema(database: Database) -> Schema:
    """Return what the database knows of its tables, except for Alembic's own."""
    with database.engine.connect() as connection:
        described = _describe_sqlite if database.is_sqlite else _describe_postgresql
        return {name: what for name, what in described(connection) if "alembic_version" not in name}


def _describe_postgresql(connection: Connection) -> Iterator[tuple[str, object]]:
    for kind, question in POSTGRESQL.items():
        for name, what in connection.execute(text(question)):
            yield f"{kind} {name}", what


def _describe_sqlite(connection: Connection) -> Iterator[tuple[str, object]]:
    question = text("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
    for kind, name, sql in connection.execute(question):
        # A table that was renamed is quoted, and means the same.
        plain = re.sub(r"\s+", " ", sql.replace('"', ""))
        yield f"{kind} {name}", _describe_table(plain) if kind == "table" else plain


def _describe_table(sql: str) -> tuple[list[str], list[str], str]:
    """Return the columns in their order, the constraints in any, and what follows the parenthesis."""
    head, _, body = sql.partition("(")
    inside, _, options = body.rpartition(")")
    parts = [part.strip() for part in _split_at_commas(inside)]
    constraints = sorted(part for part in parts if part.startswith("CONSTRAINT "))
    return [head.strip(), *(part for part in parts if part not in constraints)], constraints, options.strip()


def _split_at_commas(sql: str) -> Iterator[str]:
    """Split a list at the commas that stand in no parenthesis."""
    depth = begin = 0
    for place, character in enumerate(sql):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            yield sql[begin:place]
            begin = place + 1
    yield sql[begin:]
