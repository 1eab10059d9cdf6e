"""Placement for dynamic buckets: the writer chooses the buckets, or an assigner has chosen them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.table.facts import TableFacts
from table_format.table.placement.assigners import GivenBuckets, WritingAssigner, missing_places
from table_format.table.placement.dynamic import DynamicBuckets
from table_format.table.placement.routing import RoutedRows, route

_GIVEN: Final = "__given_bucket__"


class DynamicPlacement:
    """The writer chooses the bucket of each key, alone or as the ``assigner`` of some keys."""

    given_column: Final = None

    def __init__(self, facts: TableFacts, *, replacing: bool, assigner: WritingAssigner | None = None) -> None:
        self._facts = facts
        self._assigner = assigner
        self._buckets = DynamicBuckets(
            facts,
            replacing=replacing,
            assigners=None if assigner is None else assigner.assigners,
            is_apart=assigner is not None,
        )

    def open(self) -> None:
        """See ``Placement``: index files are shared by all writers."""

    def begin(self, base: Snapshot | None, uncommitted: frozenset[bytes]) -> None:
        """See ``Placement``: all assigners of a job choose by the same snapshot."""
        self._buckets.begin(base if self._assigner is None else self._assigner.base, uncommitted)

    def place(self, rows: pa.RecordBatch, given: pa.Array | None) -> Iterator[RoutedRows]:  # noqa: ARG002 - none given
        """See ``Placement``."""
        for piece in route(rows, self._facts.schema, self._facts.options.bucket):
            yield from self._buckets.assign(piece)

    def complete(self, messages: Sequence[CommitMessage]) -> Iterator[CommitMessage]:
        """See ``Placement``: a bucket with new hashes gets a new index file."""
        return self._buckets.complete(messages)

    def forget(self) -> None:
        """See ``Placement``."""
        self._buckets.forget()


class GivenDynamicPlacement:
    """Assigners have chosen the bucket of each row; the writer records the hashes in the index of that bucket."""

    def __init__(self, facts: TableFacts, given: GivenBuckets, *, replacing: bool) -> None:
        self._facts = facts
        self._given = given
        self._buckets = DynamicBuckets(facts, replacing=replacing)

    @property
    def given_column(self) -> str:
        """See ``Placement``."""
        return self._given.column

    def open(self) -> None:
        """See ``Placement``: index files are shared by all writers."""

    def begin(self, base: Snapshot | None, uncommitted: frozenset[bytes]) -> None:  # noqa: ARG002 - the assigners' counts
        """See ``Placement``: the snapshot is the one that the assigners chose by."""
        self._buckets.begin(self._given.base, uncommitted)

    def place(self, rows: pa.RecordBatch, given: pa.Array | None) -> Iterator[RoutedRows]:
        """See ``Placement``."""
        if given is None:
            raise missing_places(self._given)
        for piece in route(rows.append_column(_GIVEN, given), self._facts.schema, self._facts.options.bucket):
            buckets = piece.rows.column(_GIVEN).to_numpy(zero_copy_only=False).astype(np.int16)
            own = RoutedRows(piece.partition, piece.bucket, piece.rows.drop_columns([_GIVEN]))
            yield from self._buckets.record(own, buckets)

    def complete(self, messages: Sequence[CommitMessage]) -> Iterator[CommitMessage]:
        """See ``Placement``: a bucket with new hashes gets a new index file."""
        return self._buckets.complete(messages)

    def forget(self) -> None:
        """See ``Placement``."""
        self._buckets.forget()
