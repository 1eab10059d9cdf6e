"""Tags and branches by name: whether one exists, and which there were before and after the work."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dagster_paimon.reporting.metadata import Metadata, listed
from table_format import Table
from table_format.errors import NotFoundError


def require_name(
    table: Table, kind: str, plural: str, name: str, existing: Collection[str], missing: type[NotFoundError]
) -> None:
    """Refuse a name that the table has not.

    Raises:
        NotFoundError: of the class ``missing``; lists the names that there are.
    """
    if name not in existing:
        known = ", ".join(sorted(existing)) or "none"
        message = f"{table.identifier} has no {kind} '{name}'; its {plural} are {known}"
        raise missing(message)


def names_before_and_after(plural: str, before: Iterable[str], after: Iterable[str]) -> Metadata:
    """The names for a report."""
    return {f"{plural} before": listed(sorted(before)), f"{plural} after": listed(sorted(after))}
