"""The two tables that grow, in parts: what a database administrator may do to a large installation."""

from __future__ import annotations

from sqlalchemy import MetaData, create_engine, text

from portal.models import AgentMemory, Base, MemoryEvent

LARGE_TABLES = (AgentMemory.__tablename__, MemoryEvent.__tablename__)


def partition(url: str, number: int) -> None:
    """Make the large tables of an empty PostgreSQL database anew, hash-partitioned by organisation.

    Nothing else changes: the same columns, keys, checks and indexes, as the models say them.
    """
    metadata = MetaData(naming_convention=Base.metadata.naming_convention)
    for table in Base.metadata.sorted_tables:
        table.to_metadata(metadata)
    tables = [metadata.tables[name] for name in LARGE_TABLES]
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            metadata.drop_all(connection, tables)
            for table in tables:
                table.dialect_options["postgresql"]["partition_by"] = "HASH (organisation_id)"
            metadata.create_all(connection, tables)
            for name in LARGE_TABLES:
                for part in range(number):
                    values = f"WITH (MODULUS {number}, REMAINDER {part})"
                    connection.execute(
                        text(f"CREATE TABLE {name}_{part} PARTITION OF {name} FOR VALUES {values}")
                    )
    finally:
        engine.dispose()
