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
    names = list(known)
    subject = f"column '{name}' {where}".rstrip()
    advice = did_you_mean(name, names, show=repr)
    return ColumnNotFound(f"{subject} does not exist; the columns are {listed(names)}{advice}")
