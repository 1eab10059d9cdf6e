"""Random histories that both wrote in turn, read in every way that options name: batches, changes and system tables.

``python -m tests.oracle.random_reads --seed 1 --count 100`` runs many. Each history is one of a mode of
``test_hand_over_histories``, or of a merge engine with a changelog and rows that are taken back.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from table_format import load_catalog
from table_format.options.stream import ChangelogProducer
from table_format.table.system.table import SystemTable
from table_format.table.table import Table
from tests.oracle.histories import NAME, History, Mode
from tests.oracle.peer import PaimonPeer
from tests.oracle.random_cases import run_cases
from tests.oracle.test_hand_over_histories import ADDS, EACH_COMMIT, FULL, LOOKUP, MARKED, MODES, PARTIAL, SUM
from tests.support.json_rows import json_rows, sorted_rows
from tests.support.system_rows import MODIFIED, differences
from tests.support.system_tables import OF_EVERY_TABLE

VERSION = "1.4.2"
NOT_IN_1_4 = frozenset({"file_indexes"})

_DISTINCT = {"changelog-producer.row-deduplicate": "true"}
_IGNORED = "changelog-producer.row-deduplicate-ignore-fields"
_GROUP = {**PARTIAL, "fields.seq.sequence-group": "v"}
_REMOVED = {"partial-update.remove-record-on-delete": "true"}
_SUM_REMOVED = {**SUM, "aggregation.remove-record-on-delete": "true"}
_FIRST = {"merge-engine": "first-row"}


def _mode(*options: dict[str, str], kinds: tuple[str, ...] | None = None) -> Mode:
    merged = {key: value for some in options for key, value in some.items()}
    return Mode(merged, follows_order=False, **({} if kinds is None else {"kinds": kinds}))


ALL_MODES: dict[str, Mode] = {
    **MODES,
    "group, lookup": _mode(_GROUP, LOOKUP),
    "group, full compaction": _mode(_GROUP, FULL),
    "group, full compaction of each commit": _mode(_GROUP, FULL, EACH_COMMIT, _DISTINCT),
    "group that removes, lookup": _mode(_GROUP, LOOKUP, {"partial-update.remove-record-on-sequence-group": "seq"}),
    "group, marked": _mode(_GROUP, MARKED),
    "partial update, deleted, lookup": _mode(PARTIAL, LOOKUP, _REMOVED),
    "partial update, deleted, full compaction": _mode(PARTIAL, FULL, _REMOVED),
    "partial update, input": _mode(PARTIAL, {"changelog-producer": "input"}, kinds=ADDS),
    "sum, lookup, distinct": _mode(SUM, LOOKUP, _DISTINCT, {_IGNORED: "v"}, kinds=ADDS),
    "sum, deleted, lookup": _mode(_SUM_REMOVED, LOOKUP, kinds=("+I", "+I", "+U", "-D")),
    "sum, deleted, full compaction": _mode(_SUM_REMOVED, FULL, kinds=("+I", "+I", "+U", "-D")),
    "sum, marked, lookup": _mode(SUM, LOOKUP, MARKED, kinds=ADDS),
    "sum, input": _mode(SUM, {"changelog-producer": "input"}, kinds=ADDS),
    "first row, no changelog": _mode(_FIRST, kinds=ADDS),
    "first row, deletes ignored": _mode(_FIRST, LOOKUP, {"ignore-delete": "true"}),
    "lookup, changes of a column ignored": _mode(LOOKUP, _DISTINCT, {_IGNORED: "seq"}),
    "full compaction, changes of columns ignored": _mode(FULL, _DISTINCT, {_IGNORED: "seq,v"}),
    "lookup, deletes ignored": _mode(LOOKUP, {"ignore-delete": "true"}),
    "input, half of updates": _mode({"changelog-producer": "input", "ignore-update-before": "true"}),
    "marked, lookup, by sequence": _mode(LOOKUP, MARKED, {"sequence.field": "seq"}),
    "full compaction, by sequence": _mode(FULL, {"sequence.field": "seq"}),
    "looked up without a changelog": _mode({"force-lookup": "true"}),
    "wide marks, lookup": _mode(MARKED, LOOKUP, {"deletion-vectors.bitmap64": "true"}),
}


def ways(table: Table, chance: random.Random) -> Iterator[tuple[str, dict[str, str]]]:
    """Ways to read a table: what follows its name, and the options."""
    snapshots = table.snapshots()
    if not snapshots:
        return
    ids = [snapshot.id for snapshot in snapshots]
    start, end = sorted(chance.sample([ids[0] - 1, *ids], 2))
    at = chance.choice(snapshots)
    # Before the first snapshot, both refuse to read.
    near = str(max(at.time_millis + chance.choice([-1, 0, 1]), snapshots[0].time_millis))
    states = [
        *({f"scan.{name}-millis": near} for name in ("timestamp", "creation-time", "file-creation-time")),
        *({f"scan.{name}": str(at.id)} for name in ("snapshot-id", "version")),
        *({"scan.mode": mode} for mode in ("compacted-full", "latest")),
        *({"scan.mode": mode, "scan.snapshot-id": str(at.id)} for mode in ("from-snapshot-full", "from-snapshot")),
    ]
    for place in ("", "$audit_log", "$ro"):
        yield from ((place, options) for options in states)
    if table.options.skips_level_0 and table.options.stream.changelog_producer is ChangelogProducer.NONE:
        return  # 1.4 reads no file of level 0 as a change, and there are no others
    since = f"{snapshots[0].time_millis - chance.choice([0, 1, 1000])},{at.time_millis}"
    for place in ("", "$audit_log"):
        yield place, {"incremental-between": f"{start},{end}"}
        yield place, {"incremental-between-timestamp": since}


def run(seed: str, paimon: PaimonPeer, warehouse: Path) -> int:
    """Write the history of a seed, and read it in all ways: how many. What fails says all steps.

    Raises:
        AssertionError: two readers differ.
    """
    chance = random.Random(seed)
    name = chance.choice(sorted(ALL_MODES))
    history = History(paimon, warehouse, ALL_MODES[name], chance)
    read = 0
    try:
        history.run()
        catalog = load_catalog({"warehouse": str(warehouse)})
        table = catalog.load_table(NAME)
        assert isinstance(table, Table)
        for place, options in ways(table, chance):
            found = _rows(warehouse, NAME + place, options)
            theirs = paimon.changes(warehouse, NAME + place, options)
            # Where kinds are no column, an engine leaves rows out that are taken back.
            expected = sorted_rows([values for kind, values in theirs if place or not kind.startswith("-")])
            assert found == expected, f"{NAME}{place} with {options}: here {found}, there {expected}"
            read += 1
        for title in sorted(set(OF_EVERY_TABLE) - NOT_IN_1_4):
            problems = _differences(paimon, warehouse, title)
            assert not problems, f"${title}: {problems}"
            read += 1
    except Exception as error:
        steps = "\n  ".join(history.steps)
        message = f"seed {seed}, {name}:\n  {steps}\n{type(error).__name__}: {error}"
        raise AssertionError(message) from error
    return read


def _rows(warehouse: Path, name: str, options: dict[str, str]) -> list[list[Any]]:
    table = load_catalog({"warehouse": str(warehouse)}).load_table(name)
    if isinstance(table, SystemTable):
        return json_rows(table.scan(options=options).to_arrow(), table.fields)
    assert isinstance(table, Table)
    scan = table.scan(options=options)
    return json_rows(scan.to_arrow(), scan.plan().fields)


def _differences(paimon: PaimonPeer, warehouse: Path, title: str) -> list[str]:
    theirs = paimon.system_table(warehouse, f"{NAME}${title}")
    table = load_catalog({"warehouse": str(warehouse)}).load_table(f"{NAME}${title}")
    assert isinstance(table, SystemTable)
    if title == "branches":
        theirs["rows"] = [[*row[:-1], MODIFIED] for row in theirs["rows"]]
    return list(differences(paimon.version, table, title, theirs))


def main() -> int:
    """Run many histories. The exit code is 1 if one failed."""
    ways, failed = run_cases("tests.oracle.random_reads", __doc__, run, VERSION)
    print(f"{len(ways) + failed} histories read in {sum(ways)} ways, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
