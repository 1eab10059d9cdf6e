"""Checks the names of tags and branches, and reports the names before and after the work."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dagster_paimon.reporting.metadata import Metadata, listed
from table_format import Table
from table_format.errors import NotFoundError


def require_name(
    table: Table, kind: str, plural: str, name: str, existing: Collection[str], missing: type[NotFoundError]
) -> None:
    """Refuse a name that the table does not have.

    Raises:
        NotFoundError: the name does not exist. The class is ``missing``; the message lists the existing names.
    """
    if name not in existing:
        known = ", ".join(sorted(existing)) or "none"
        message = f"{table.identifier} has no {kind} '{name}'; its {plural} are {known}"
        raise missing(message)


def names_before_and_after(plural: str, before: Iterable[str], after: Iterable[str]) -> Metadata:
    """Return the names for a report."""
    return {f"{plural} before": listed(sorted(before)), f"{plural} after": listed(sorted(after))}
