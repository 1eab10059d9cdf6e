"""``python -m tests.options.accepted_tables --count 500 --oracle``: whether tables that CREATE accepts work.

Each drawn table is created, written in three commits, read, compacted, read, and its snapshots are expired; with
``--oracle`` the real Paimon 1.4.2 reads the same rows at each of these times.
One Java process serves all of them. Exit code 1 when a table fails.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from table_format import Table, load_catalog
from table_format.model.types import (
    ArrayType,
    DataField,
    DataType,
    FloatType,
    MapType,
    MultisetType,
    RowType,
    VarCharType,
    types_in,
)
from tests.options.drawn_tables import DrawnTable, draw, option_coverage
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import json_rows, sorted_rows

VERSION = "1.4.2"
_SHOWN = 900


@dataclass
class Outcome:
    """The tables that were tried, and what failed."""

    tables: list[DrawnTable] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class _Logged(logging.Handler):
    """What a commit could not do afterwards is logged and does not fail it."""

    problem: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and self.problem is None:
            self.problem = f"{record.getMessage()}: {record.exc_info[1]}"


def try_table(warehouse: Path, seed: int, number: int, paimon: PaimonPeer | None) -> tuple[DrawnTable, list[str]]:
    """Draw one table and do everything with it: the table, and what went wrong."""
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("db", ignore_if_exists=True)
    name = f"db.t{number}"
    drawn, table = draw(seed, number, name, catalog)
    failures: list[str] = []
    logged = _Logged()
    logging.getLogger("table_format").addHandler(logged)
    for step in _steps(warehouse, name, drawn, table, paimon):
        try:
            problem = step() or logged.problem
        except Exception as error:  # noqa: BLE001 - whatever it is, the table failed
            problem = f"{type(error).__name__}: {error}"
        if problem:
            failures.append(f"{drawn}\n    {step.__name__}: {problem[:_SHOWN]}")
            break
    logging.getLogger("table_format").removeHandler(logged)
    return drawn, failures


def _steps(
    warehouse: Path, name: str, drawn: DrawnTable, table: Table, paimon: PaimonPeer | None
) -> Iterator[Callable[[], str | None]]:
    def write() -> None:
        for batch in drawn.batches:
            table.append(batch)

    def load_and_read() -> str:
        return _difference(warehouse, name, paimon)

    def compact() -> None:
        table.compact(full=True)

    def read_compacted() -> str:
        return _difference(warehouse, name, paimon)

    def expire() -> None:
        table.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=2**62, retain_floor_ms=0)

    def read_expired() -> str:
        return _difference(warehouse, name, paimon)

    yield from (write, load_and_read, compact, read_compacted, expire, read_expired)


def _difference(warehouse: Path, name: str, paimon: PaimonPeer | None) -> str:
    table = load_catalog({"warehouse": str(warehouse)}).load_table(name)
    assert isinstance(table, Table)
    fields = table.schema.fields
    ours = json_rows(table.scan().to_arrow(), fields)
    if paimon is None:
        return ""
    if any(map(_is_misread, fields)):
        return ""
    theirs = _alike(paimon.read(warehouse, name)["rows"], fields)
    return "" if theirs == _alike(ours, fields) else f"here {ours}, there {theirs}"


def _is_misread(field: DataField) -> bool:
    """The real Paimon reads a MULTISET of other elements than texts neither in its own files nor in ours."""
    return any(
        isinstance(t, MultisetType) and t.element.with_nullable(True) != VarCharType() for t in types_in(field.type)
    )


def _alike(rows: list[list[Any]], fields: Sequence[DataField]) -> list[list[Any]]:
    """Rows without what differs between two JSON encoders: digits of a FLOAT, and the order of the entries of a map."""
    return sorted_rows([[_value(v, f.type) for v, f in zip(row, fields, strict=True)] for row in rows])


def _value(value: Any, data_type: DataType) -> Any:
    match data_type:
        case _ if value is None:
            return None
        case FloatType() if not isinstance(value, str):
            return float(np.float32(value))
        case ArrayType(element=element):
            return [_value(v, element) for v in value]
        case MapType(key=key, value=item):
            return sorted_rows([[_value(k, key), _value(v, item)] for k, v in value])
        case MultisetType(element=element):
            return sorted_rows([[_value(k, element), count] for k, count in value])
        case RowType(fields=fields):
            return {f.name: _value(value[f.name], f.type) for f in fields}
    return value


def search(seed: int, numbers: range, paimon: PaimonPeer | None, warehouse: Path) -> Outcome:
    """Try the tables of these numbers."""
    outcome = Outcome()
    for number in numbers:
        drawn, failures = try_table(warehouse, seed, number, paimon)
        outcome.tables.append(drawn)
        outcome.failures += failures
        for text in failures:
            print(text, flush=True)
    return outcome


def main() -> int:
    """Run, and print what failed and which options no table had."""
    parser = argparse.ArgumentParser(prog="python -m tests.options.accepted_tables", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first table")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--oracle", action="store_true", help=f"have the real Paimon {VERSION} read each table")
    arguments = parser.parse_args()
    warehouse, begun = Path(tempfile.mkdtemp(prefix="accepted-")), time.monotonic()
    with ExitStack() as running:
        paimon = running.enter_context(PaimonPeer(VERSION)) if arguments.oracle else None
        numbers = range(arguments.first, arguments.first + arguments.count)
        outcome = search(arguments.seed, numbers, paimon, warehouse)
    missing = option_coverage(outcome.tables)
    options = sum(len(table.schema.options) for table in outcome.tables)
    print(f"options that no table had: {', '.join(missing) or 'none'}")
    print(
        f"{len(outcome.tables)} tables with {options} options in {time.monotonic() - begun:.0f} s, "
        f"{len(outcome.failures)} failed"
    )
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
