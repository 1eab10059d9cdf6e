"""Tables in HDFS: the same rows as on a disk, no commit lost or doubled by faults, and the real Paimon beside us."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import urllib3

from table_format import Schema, Table, load_catalog
from table_format.errors import CommitOutcomeUnknown, UnsupportedFeature
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.conftest import SharedLake
from tests.oracle.install import VERSIONS
from tests.oracle.peer import PaimonPeer
from tests.oracle.s3_tables import make, opened, read, write
from tests.support.hdfs_cluster import HdfsCluster, running_hdfs
from tests.table.test_object_stores import COLUMNS, check_same_life, rows

pytestmark = pytest.mark.oracle

NUMBERS = count()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    with running_hdfs(tmp_path_factory.mktemp("hdfs")) as running:
        yield running


def native(cluster: HdfsCluster) -> dict[str, str]:
    """A warehouse by the name of Hadoop's own protocol, whose first namenode is not the active one."""
    return {"warehouse": f"{cluster.native_uri}/{next(NUMBERS)}", **cluster.options}


def of_rest(cluster: HdfsCluster) -> dict[str, str]:
    return {"warehouse": f"{cluster.uri}/{next(NUMBERS)}"}


def table_in(catalog_options: dict[str, str], **kind: Any) -> Table:
    catalog = load_catalog(catalog_options)
    catalog.create_database("db")
    return catalog.create_table("db.t", Schema.from_arrow(COLUMNS, **kind))


@pytest.mark.parametrize(("kind", "name"), [("append, partitioned", "webhdfs"), ("key", "hdfs")])
def test_a_table_returns_the_same_as_on_a_disk(kind: str, name: str, cluster: HdfsCluster, tmp_path: Path) -> None:
    check_same_life(kind, {"warehouse": str(tmp_path)}, native(cluster) if name == "hdfs" else of_rest(cluster))


def test_a_large_file_is_written_and_its_columns_are_read_in_ranges(cluster: HdfsCluster) -> None:
    catalog = load_catalog(of_rest(cluster))
    catalog.create_database("db")
    table = catalog.create_table("db.t", Schema.from_arrow(pa.schema([("a", pa.int64()), ("b", pa.int64())])))
    numbers = pa.array(range(0, 2_000_000 * 7919, 7919), pa.int64())
    table.append(pa.table({"a": numbers, "b": numbers}))
    assert table.scan(columns=["b"]).to_arrow().column("b").to_pylist() == numbers.to_pylist()


def test_tables_and_branches_are_renamed_in_one_step(cluster: HdfsCluster) -> None:
    options = native(cluster)
    table = table_in(options)
    table.append(rows(1))
    table.create_branch("b")
    table.rename_branch("b", "c")
    catalog = load_catalog(options)
    catalog.rename_table("db.t", "db.u")
    moved = catalog.load_table("db.u")
    assert (catalog.list_tables("db"), list(moved.branches())) == (("u",), ["c"])
    assert moved.scan().to_arrow().num_rows == 1
    assert moved.location == f"{options['warehouse']}/db.db/u"


def test_files_outside_the_warehouse_are_refused(cluster: HdfsCluster) -> None:
    external = {"data-file.external-paths": "file:/tmp/x", "data-file.external-paths.strategy": "round-robin"}
    with pytest.raises(UnsupportedFeature, match=r"'data-file\.external-paths' of a table .* in HDFS"):
        table_in(of_rest(cluster), options=external)


def test_an_error_names_the_path_the_namenode_and_the_exception_of_hadoop(cluster: HdfsCluster) -> None:
    table = table_in(of_rest(cluster))
    other = load_catalog({"warehouse": f"{cluster.uri}/0", "hadoop.username": "somebody"}).io
    with pytest.raises(PermissionError) as caught:
        other.create(f"{table.store.paths.snapshot_directory}/snapshot-1", b"x")
    assert str(caught.value).startswith(f"[Errno 13] AccessControlException of {cluster.active}: Permission denied")
    assert table.store.paths.snapshot_directory in str(caught.value)
    assert "\n" not in str(caught.value)


class Broken:
    """Breaks the connections of some requests: before the request is sent, or before its answer arrives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
        self.broken: set[tuple[str, str]] = set()
        drawn, send = random.Random(seed), urllib3.PoolManager.request

        def request(pool: urllib3.PoolManager, method: str, url: str, **arguments: Any) -> Any:
            when = drawn.choices(["never", "before", "after"], [24, 1, 1])[0]
            answer = None if when == "before" else send(pool, method, url, **arguments)
            if when == "never":
                return answer
            place = "namenode" if "namenoderpcaddress" not in url else "datanode"
            self.broken.add((f"{urllib3.util.parse_url(url).query}".partition("&")[0] + f" at the {place}", when))
            text = "the connection is broken"
            raise urllib3.exceptions.ProtocolError(text)

        monkeypatch.setattr(urllib3.PoolManager, "request", request)


@pytest.mark.parametrize("seed", range(2))
def test_every_acknowledged_commit_of_concurrent_writers_is_there_once_in_spite_of_broken_connections(
    seed: int, cluster: HdfsCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = native(cluster)
    table_in(options)
    handles = [load_catalog(options).load_table("db.t") for _ in range(3)]

    def write_some(writer: int) -> tuple[list[int], list[int]]:
        done, unknown = [], []
        for number in range(writer * 100, writer * 100 + 5):
            try:
                handles[writer].append(rows(number))
                done.append(number)
            except CommitOutcomeUnknown:
                unknown.append(number)
            except OSError:
                continue  # given up, and nothing was committed
        return done, unknown

    with monkeypatch.context() as during, ThreadPoolExecutor(3) as pool:
        broken = Broken(during, seed).broken
        written = list(pool.map(write_some, range(3)))
    assert {(f"op={op} at the {place}", when) for op, place in KINDS for when in ("before", "after")} <= broken
    table = load_catalog(options).load_table("db.t")
    found = sorted(table.scan(columns=["id"]).to_arrow().column("id").to_pylist())
    acknowledged = {number for done, _ in written for number in done}
    assert len(found) == len(set(found))
    assert acknowledged <= set(found) <= acknowledged | {number for _, numbers in written for number in numbers}
    assert len(acknowledged) > 10
    assert table.verify(depth="rows").is_healthy


KINDS = [("GETFILESTATUS", "namenode"), ("CREATE", "namenode"), ("CREATE", "datanode"), ("RENAME", "namenode")]
"""Requests of which each is broken at least once in both ways."""


@pytest.fixture(scope="module")
def shared(cluster: HdfsCluster, peers: Callable[[str], PaimonPeer]) -> Callable[[str], SharedLake]:
    """A warehouse of both, by one of its names: the real Paimon needs no option for either."""

    def open_both(name: str) -> SharedLake:
        options = native(cluster) if name == "hdfs" else of_rest(cluster)
        uri = options.pop("warehouse")
        theirs = peers(VERSIONS[-1]).with_catalog(options)
        return SharedLake(uri, load_catalog({"warehouse": uri, **options}), theirs)

    return open_both


@pytest.mark.parametrize("by_us", [True, False], ids=["ours", "theirs"])
@pytest.mark.parametrize("name", ["webhdfs", "hdfs"])
def test_the_real_paimon_and_we_write_one_table_in_turn(
    name: str, by_us: bool, shared: Callable[[str], SharedLake]
) -> None:
    lake = shared(name)
    make(
        lake, {"bucket": "1", "num-sorted-run.compaction-trigger": "3", "deletion-vectors.enabled": "true"}, by_us=by_us
    )
    expected = {}
    for step in range(4):
        some = [
            (key, pt, step * 100 + key) for key, pt in enumerate(("plain", "a/b", "x=%y", "a:b", "中")[step // 2 :])
        ]
        expected.update(((k, pt), v) for k, pt, v in some)
        write(lake, some, by_us=(step % 2 == 0) == by_us)
    opened(lake).compact(full=True)
    assert read(lake) == sorted((*key, v) for key, v in expected.items())
    assert_same_at_every_snapshot(lake.theirs, lake.uri, "db.t")


def test_the_real_paimon_and_we_commit_at_the_same_time_and_nothing_is_lost(
    shared: Callable[[str], SharedLake],
) -> None:
    lake = shared("webhdfs")
    make(lake, {"write-only": "true"}, by_us=True, keys=[])

    def commit(by_us: bool) -> None:
        for number in range(8):
            write(lake, [(number + 100 * by_us, "a", number)], by_us=by_us)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(commit, (True, False)))
    assert len(lake.theirs.snapshot_ids(lake.uri, "db.t")) == 16
    assert read(lake) == sorted((n + 100 * by_us, "a", n) for n in range(8) for by_us in (True, False))
