"""Mapped objects made of rows as the driver gives them, at a fraction of what the ORM's loading costs.

They are what statements on the driver itself return, see :func:`portal.transactions.fetch_in`. They belong
to no session, and a relationship is loaded where the caller gives what it leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from sqlalchemy import Boolean, Enum

from portal.models import Base, Moment
from portal.values import from_microseconds

Mapped = TypeVar("Mapped", bound=Base)


class RowReader(Generic[Mapped]):
    """Reads rows of one table.

    :param kind: the mapped class.
    """

    def __init__(self, kind: type[Mapped]) -> None:
        self._manager = kind.__mapper__.class_manager
        self.columns: Sequence[Any] = tuple(kind.__table__.columns)
        """Every column of the table, to be selected in this order."""
        self.names = tuple(column.name for column in self.columns)
        self.width = len(self.columns)
        self._conversions = [
            (column.name, conversion)
            for column in self.columns
            if (conversion := _conversion(column)) is not None
        ]

    def read(self, row: Sequence[Any], **related: Base | None) -> Mapped:
        """Return the object of a row that holds ``columns`` and nothing else.

        :param related: what relationships lead to, by their names.
        """
        values = dict(zip(self.names, row, strict=True))
        for name, convert in self._conversions:
            value = values[name]
            if value is not None:
                values[name] = convert(value)
        # As SQLAlchemy loads a row: these are its values, and not sixteen changes to be kept track of.
        made: Mapped = self._manager.new_instance()
        vars(made).update(values, **related)
        return made


def _conversion(column: Any) -> Callable[[Any], Any] | None:
    """Return what makes a driver's value of the column ours, or None where it is that already."""
    kind = column.type
    if isinstance(kind, Moment):
        return from_microseconds
    if isinstance(kind, Enum) and kind.enum_class is not None:
        return {word.value: word for word in kind.enum_class}.__getitem__
    # SQLite keeps truth as a number.
    return bool if isinstance(kind, Boolean) else None
