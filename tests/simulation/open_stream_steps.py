"""Streams that stay open: the sum of the changes that they show must be the rows of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from table_format.errors import CorruptionError, TableFormatError
from table_format.table.read.stream import StreamScan
from tests.simulation.open_history import NOTHING, OpenHistory
from tests.simulation.open_tables import ID, P
from tests.simulation.world import Violation


@dataclass
class OpenStream:
    """A stream, and the rows that its changes add up to, by key; values by the ids of columns."""

    scan: StreamScan
    key: tuple[int, ...]
    rows: dict[tuple[Any, ...], dict[int, Any]] = field(default_factory=dict)

    def apply(self, change: Mapping[str, Any], known: frozenset[int]) -> None:
        """Add one change. What a row withdraws must be there, but for columns that were dropped since."""
        ids = {f.name: f.id for f in self.scan.facts.schema.fields}
        row = {ids[name]: value for name, value in change.items() if name != "rowkind"}
        key, there = tuple(row[i] for i in self.key), self.rows.get(tuple(row[i] for i in self.key))
        if change["rowkind"] in ("-U", "-D"):
            if there is None or any(there[i] != row[i] for i in known & row.keys()):
                raise Violation(f"W10 a stream withdraws {row}, and {there} is there")
            del self.rows[key]
            return
        if there is not None:
            raise Violation(f"W10 a stream adds {row}, and {there} is there")
        self.rows[key] = row

    def follow(self, known: frozenset[int]) -> int:
        """Read all changes that there are. Return the number of plans. ``known`` are the columns of the table."""
        plans = 0
        while (plan := self.scan.next_plan()) is not None:
            plans += 1
            for change in self.scan.to_arrow(plan).to_pylist():
                self.apply(change, known)
        return plans


class StreamSteps(OpenHistory):
    """What is done with open streams."""

    @property
    def has_streams(self) -> bool:
        """Whether changes add up to rows: there is a changelog."""
        return bool(self.kind.keys) and self.kind.producer != "none" and self.kind.options["bucket"] != "-2"

    def open_stream(self) -> object:
        scan = self.opened().stream()
        self.streams.append(OpenStream(scan, (ID,) if self.kind.crosses else (ID, P)))
        return len(self.streams)

    def follow_stream(self) -> object:
        one = self.draw.choice(self.streams)
        return self.followed(one)

    def followed(self, one: OpenStream) -> int | None:
        """Follow a stream; one that cannot continue is closed."""
        try:
            return one.follow(frozenset(f.id for f in self.opened().schema.fields))
        except TableFormatError as error:
            self.streams.remove(one)
            if isinstance(error, CorruptionError):
                raise
            self.coverage[f"follow stream {type(error).__name__}"] += 1
            return None

    def end_streams(self) -> None:
        """After a full compaction, each stream has shown what is in the table."""
        if not self.streams:
            return
        self.opened().compact(full=True)
        self.look(NOTHING)
        table = self.opened()
        ids = {f.name: f.id for f in table.schema.fields}
        shown = [{ids[n]: v for n, v in row.items()} for row in table.scan().to_arrow(threads=1).to_pylist()]
        for one in list(self.streams):
            if self.followed(one) is None:
                continue
            self.coverage["stream compared"] += 1
            both = {f.id for f in one.scan.facts.schema.fields} & set(ids.values())
            wanted = sorted(repr({i: row[i] for i in sorted(both)}) for row in shown)
            found = sorted(repr({i: row[i] for i in sorted(both)}) for row in one.rows.values())
            if wanted != found:
                raise Violation(f"W11 the changes of a stream add up to {found}, and the table has {wanted}")
