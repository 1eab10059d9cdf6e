"""Placement that depends on the row alone: fixed buckets, no buckets, postponed buckets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.table.facts import TableFacts
from table_format.table.placement.routing import RoutedRows, route


class StatelessPlacement:
    """Places rows by their partition columns and, with fixed buckets, by the hash of their bucket key."""

    given_column: Final = None

    def __init__(self, facts: TableFacts) -> None:
        self._schema = facts.schema
        self._bucketing = facts.options.bucket

    def open(self) -> None:
        """See ``Placement``."""

    def begin(self, base: Snapshot | None, uncommitted: frozenset[bytes]) -> None:
        """See ``Placement``: no snapshot matters."""

    def place(self, rows: pa.RecordBatch, given: pa.Array | None) -> Iterator[RoutedRows]:  # noqa: ARG002 - none given
        """See ``Placement``."""
        return route(rows, self._schema, self._bucketing)

    def complete(self, messages: Sequence[CommitMessage]) -> Iterator[CommitMessage]:
        """See ``Placement``: there is nothing to add."""
        return iter(messages)

    def forget(self) -> None:
        """See ``Placement``."""
