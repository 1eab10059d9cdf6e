"""The error for columns that do not exist, which suggests the nearest names."""

from __future__ import annotations

from collections.abc import Iterable

from table_format.counted import listed
from table_format.errors import ColumnNotFound
from table_format.nearest_names import did_you_mean


def no_such_column(name: str, known: Iterable[str], where: str = "") -> ColumnNotFound:
    """Return the error for a column that does not exist; ``where`` follows its name, as in "of the filter".

    >>> no_such_column("amuont", ["id", "amount"], "of the filter")
    ColumnNotFound("column 'amuont' of the filter does not exist; the columns are id, amount; did you mean 'amount'?")
    """
    return ColumnNotFound(f"column '{name}' {where}".rstrip() + f" {does_not_exist(name, known)}")


def does_not_exist(name: str, known: Iterable[str], *, shown: str | None = None) -> str:
    """Return the rest of a sentence about a column that does not exist, for errors of other classes.

    ``shown`` is a text for the known columns, instead of a list of them.

    >>> does_not_exist("amuont", ["id", "amount"])
    "does not exist; the columns are id, amount; did you mean 'amount'?"
    """
    names = list(known)
    return f"does not exist; the columns are {shown or listed(names)}{did_you_mean(name, names, show=repr)}"
