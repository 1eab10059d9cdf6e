"""Partitions that are too old by the times in their values: both engines drop the same ones, whatever the pattern."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, load_catalog
from tests.oracle.peer import PaimonPeer
from tests.oracle.random_merges import VERSION

SCHEMA = pa.schema([("n", pa.int32()), ("p", pa.string()), ("q", pa.string())])
FIRST: list[str | None] = [
    *(None, "x", "2099-01-01", "2020-01-01", "2020-1-1", "2020-02-30", "2020-13-01", "20-01-01", "2020-01-01 "),
    *("20200101", "200101", "2020-01", "202001", "2020", "01-01", "2020-01-01 10", "10 2020-01-01"),
    *("2020-01-01 10:00:00", "2020-1-2 3:4:5", "2020-01-01 10:61:00", "2020-01-01 10:00:00.5", "2020-01-01T10:00"),
]
SECOND = [None, "10", "7", "24", "2020", "x"]
CASES: list[tuple[str | None, str | None]] = [
    *((None, formatter) for formatter in (None, "yyyyMMdd", "yyyy-MM-dd", "yyyy-MM-dd HH", "yyMMdd", "y-M-d")),
    *((None, formatter) for formatter in ("yyyy-M-d H:m:s", "yyyy-MM", "yyyy", "HH yyyy-MM-dd", "yyyy-MM-dd'T'HH:mm")),
    *((pattern, None) for pattern in ("$p", "$p 00:00:00", "$p $q:00:00", "$q-$p", "$p.$q")),
    *[("$p $q", "yyyy-MM-dd HH"), ("$p$q", "yyyyMMddHH"), ("x$p", "'x'yyyyMMdd")],
]


@pytest.mark.parametrize(("pattern", "formatter"), CASES)
def test_both_drop_the_same_partitions(
    peers: Callable[[str], PaimonPeer], tmp_path: Path, pattern: str | None, formatter: str | None
) -> None:
    paimon = peers(VERSION)
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    given = {"partition.timestamp-pattern": pattern, "partition.timestamp-formatter": formatter}
    options = {"partition.expiration-time": "30 d", **{key: value for key, value in given.items() if value is not None}}
    schema = Schema.from_arrow(SCHEMA, partition_keys=["p", "q"], options=options)
    table = catalog.create_table("db.t", schema)
    pairs = list(product(FIRST, SECOND))
    firsts, seconds = zip(*pairs, strict=True)
    table.append(pa.table({"n": list(range(len(pairs))), "p": firsts, "q": seconds}, schema=SCHEMA))
    foreseen = table.expire_partitions(dry_run=True, max_num=1000)
    dropped = {(partition.spec["p"], partition.spec["q"]) for partition in foreseen.partitions}
    paimon.expire_partitions(tmp_path, "db.t", {"partition.expiration-max-num": "1000"})
    left = {(row[1], row[2]) for row in paimon.read(tmp_path, "db.t")["rows"]}
    assert left == set(pairs) - dropped
    assert table.expire_partitions(max_num=1000).partitions == ()
