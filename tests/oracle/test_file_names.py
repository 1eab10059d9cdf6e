"""Names of data files by the options of the table: both give the same names, and read the files of the other."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from table_format import Table, load_catalog
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import json_rows, sorted_rows
from tests.support.tables import keyed

COLUMNS = [["id", "BIGINT NOT NULL"], ["dt", "STRING"], ["v", "INT"]]
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-[0-9]+")
OPTIONS = [
    {"data-file.prefix": "part-"},
    {"file.suffix.include.compression": "true"},
    {"file.suffix.include.compression": "true", "file.compression": "snappy", "file.format": "orc"},
    {"file.suffix.include.compression": "true", "file.compression": "none"},
    {"file.suffix.include.compression": "true", "file.compression": "LZ4", "data-file.prefix": "a.b_c-"},
    {"file.suffix.include.compression": "true", "file.compression.per.level": "0:snappy", "file.format": "avro"},
]


def names(table: Table) -> set[str]:
    """The names of data files without their ids."""
    return {UUID.sub("U", file.file_name) for split in table.scan().plan() for file in split.files}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_both_give_the_same_names(peers: Callable[[str], PaimonPeer], tmp_path: Path, options: dict[str, str]) -> None:
    paimon = peers("1.4.2")
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    given = {"bucket": "1", "num-sorted-run.compaction-trigger": "50", **options}
    paimon.create_table(tmp_path, "db.t", columns=COLUMNS, primary_keys=["id"], partition_keys=[], options=given)
    table = catalog.load_table("db.t")
    assert isinstance(table, Table)
    paimon.write(tmp_path, "db.t", [["+I", [1, "a", 1]]])
    theirs = names(table)
    table.append(keyed([(2, "b", 2)]))
    assert names(table) == theirs
    for compact in (lambda: paimon.compact(tmp_path, "db.t"), lambda: table.compact(full=True)):
        compact()
        compacted = names(table)
        table.append(keyed([(3, "c", 3)]))
        paimon.write(tmp_path, "db.t", [["+I", [4, "d", 4]]])
        assert names(table) == theirs | compacted
    rows = json_rows(table.scan().to_arrow(), table.schema.fields)
    assert rows == [[1, "a", 1], [2, "b", 2], [3, "c", 3], [4, "d", 4]]
    assert sorted_rows(paimon.read(tmp_path, "db.t")["rows"]) == rows
