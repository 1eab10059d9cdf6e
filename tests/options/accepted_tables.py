"""``python -m tests.options.accepted_tables --count 500 --oracle``: whether tables that CREATE accepts work.

Each drawn table is created, written in three commits, read, compacted, read, and its snapshots are expired. With
``--oracle``, the real Paimon 1.4.2 writes and compacts in turn, and reads the same rows after each step. One Java
process serves all of them. Exit code 1 when a table fails.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from table_format import Table, load_catalog
from table_format.errors import InvalidOption
from table_format.model.types import (
    BytesType,
    DataField,
    MultisetType,
    VarCharType,
    types_in,
)
from table_format.options.bucket_mode import Postponed, Unaware, bucket_mode
from table_format.options.check_memory import check_memory
from table_format.options.hints import PAGE_SIZE
from table_format.options.table_options import TableOptions
from tests.options.drawn_tables import DrawnTable, draw, option_coverage
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import alike_rows, json_rows, unsorted_rows

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

    def write_again() -> None:
        table.append(drawn.later_batches[-1])

    def read() -> str:
        return _difference(warehouse, name, paimon)

    def compact() -> None:
        table.compact(full=True)

    def expire() -> None:
        table.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=2**62, retain_floor_ms=0)

    if paimon is None or any(map(_is_misread, table.schema.fields)) or _is_only_written_here(table):
        yield from (write, read, compact, read, expire, read)
        return
    there = paimon

    def write_there() -> None:
        batch = next(batches)
        rows = [["+I", row] for row in unsorted_rows(batch, table.schema.fields)]
        there.write(warehouse, name, rows)

    def compact_there() -> None:
        _compact_there(there, warehouse, name, table)

    batches = iter(drawn.later_batches)
    yield from (write, read, write_there, read, compact, read)
    yield from (write_there, write_again, write_there, read, compact_there, read, write_again, compact, read)
    yield from (expire, read)


def _compact_there(paimon: PaimonPeer, warehouse: Path, name: str, table: Table) -> None:
    match bucket_mode(table.schema, TableOptions.parse(table.schema.options).bucket):
        case Unaware():
            paimon.compact_append(warehouse, name)
        case Postponed():
            pass  # only jobs of Flink and Spark do it
        case _:
            paimon.compact(warehouse, name, {"write-only": "false"})


def _difference(warehouse: Path, name: str, paimon: PaimonPeer | None) -> str:
    table = load_catalog({"warehouse": str(warehouse)}).load_table(name)
    assert isinstance(table, Table)
    fields = table.schema.fields
    ours = json_rows(table.scan().to_arrow(), fields)
    if paimon is None:
        return ""
    if any(map(_is_misread, fields)):
        return ""
    theirs = alike_rows(paimon.read(warehouse, name)["rows"], fields)
    return "" if theirs == alike_rows(ours, fields) else f"here {ours}, there {theirs}"


def _is_only_written_here(table: Table) -> bool:
    """Whether Paimon reads the table, but cannot write it, as the documents say."""
    return _looks_up_bytes(table) or _has_too_few_pages(table)


def _looks_up_bytes(table: Table) -> bool:
    schema = table.schema
    types = [schema.field(name).type for name in schema.trimmed_primary_keys]
    return table.options.compacts_by_lookup and any(isinstance(each, BytesType) for each in types)


def _has_too_few_pages(table: Table) -> bool:
    paged = table.options.with_options({PAGE_SIZE.key: str(PAGE_SIZE.read(table.options.raw))})
    try:
        check_memory(table.schema, paged)
    except InvalidOption:
        return True
    return False


def _is_misread(field: DataField) -> bool:
    """The real Paimon reads a MULTISET of other elements than texts neither in its own files nor in ours."""
    return any(
        isinstance(t, MultisetType) and t.element.with_nullable(True) != VarCharType() for t in types_in(field.type)
    )


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
