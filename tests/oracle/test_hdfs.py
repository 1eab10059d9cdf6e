"""Tables in HDFS: the same rows as on a disk, no commit lost or doubled by faults, and the real Paimon beside us."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pytest
import urllib3

from table_format import Schema, Table, load_catalog
from table_format.errors import UnsupportedFeature
from tests.oracle.conftest import SharedLake
from tests.oracle.install import VERSIONS
from tests.oracle.peer import PaimonPeer
from tests.oracle.shared_tables import make, read, write, write_in_turn
from tests.support.hdfs_cluster import HdfsCluster, running_hdfs
from tests.table.test_object_stores import (
    COLUMNS,
    check_outcomes,
    check_same_life,
    commit_side_by_side,
    rows,
)

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


def test_a_table_returns_the_same_as_on_a_disk(cluster: HdfsCluster, tmp_path: Path) -> None:
    check_same_life("key", {"warehouse": str(tmp_path)}, native(cluster))


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


def test_an_error_names_the_path_the_server_and_the_exception_of_hadoop(cluster: HdfsCluster) -> None:
    table = table_in(of_rest(cluster))
    other = load_catalog({"warehouse": f"{cluster.uri}/0", "hadoop.username": "somebody"}).io
    expected = r"\[Errno 13\] AccessControlException of 127\.0\.0\.1:\d+: Permission denied: user=somebody.*"
    with pytest.raises(PermissionError, match=expected) as caught:
        other.create(f"{table.store.paths.snapshot_directory}/snapshot-1", b"x")
    assert table.store.paths.snapshot_directory in str(caught.value)
    assert "\n" not in str(caught.value)


Kind = tuple[str, str]
"""An operation of WebHDFS, and the server that is asked for it."""
NAMES: list[Kind] = [(op, "namenode") for op in ("GETFILESTATUS", "CREATE", "RENAME", "OPEN", "LISTSTATUS_BATCH")]
KINDS: list[Kind] = [*NAMES, ("CREATE", "datanode"), ("OPEN", "datanode")]


def break_connections(monkeypatch: pytest.MonkeyPatch, when: Callable[[Kind, int], str]) -> set[tuple[Kind, str]]:
    """Break the connection of the n-th request of a kind ``before`` it is sent, ``after`` it, or not at all.

    The set that is returned has what was broken so far.
    """
    broken: set[tuple[Kind, str]] = set()
    numbers: Counter[Kind] = Counter()
    send = urllib3.PoolManager.request

    def request(pool: urllib3.PoolManager, method: str, url: str, **arguments: Any) -> Any:
        op = parse_qs(urlsplit(url).query)["op"][0]
        kind = (op, "datanode" if "namenoderpcaddress" in url else "namenode")
        numbers[kind] += 1
        fate = when(kind, numbers[kind])
        answer = None if fate == "before" else send(pool, method, url, **arguments)
        if fate in ("before", "after"):
            broken.add((kind, fate))
            text = "the connection is broken"
            raise urllib3.exceptions.ProtocolError(text)
        return answer

    monkeypatch.setattr(urllib3.PoolManager, "request", request)
    return broken


@pytest.mark.parametrize("fate", ["before", "after"])
@pytest.mark.parametrize("broken", [*KINDS, ("MKDIRS", "namenode"), ("DELETE", "namenode")])
def test_a_request_whose_connection_breaks_is_repeated_and_takes_effect_once(
    broken: Kind, fate: str, cluster: HdfsCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = load_catalog(of_rest(cluster))
    io, root = catalog.io, catalog.warehouse

    def breaking(act: Callable[[], object]) -> object:
        """Act while the first request of the kind is broken, if it makes one."""
        with monkeypatch.context() as during:
            found = break_connections(during, lambda kind, number: fate if (kind, number) == (broken, 1) else "")
            result = act()
        happened.update(found)
        return result

    happened: set[tuple[Kind, str]] = set()
    breaking(lambda: io.create(f"{root}/a/f", b"1"))
    with pytest.raises(FileExistsError):
        breaking(lambda: io.create(f"{root}/a/f", b"1"))
    breaking(lambda: io.overwrite(f"{root}/a/f", b"2"))
    assert breaking(lambda: io.read(f"{root}/a/f")) == b"2"
    breaking(lambda: io.rename_directory(f"{root}/a", f"{root}/b"))
    with pytest.raises(FileNotFoundError):
        breaking(lambda: io.rename_directory(f"{root}/a", f"{root}/c"))
    breaking(lambda: io.make_directory(f"{root}/a"))
    assert [child.name for child in breaking(lambda: io.list(root))] == ["a", "b"]
    assert breaking(lambda: io.delete_empty_directory(f"{root}/a")) is True
    breaking(lambda: io.delete(f"{root}/b/f"))
    assert io.list(f"{root}/b") == io.list(f"{root}/a") == []
    # An attempt to write that got no answer leaves nothing, unless the request to delete it is lost as well.
    assert io.list_hidden(f"{root}/b") == [] or broken == ("DELETE", "namenode")
    assert happened == {(broken, fate)}


def test_every_acknowledged_commit_of_concurrent_writers_is_there_once_in_spite_of_broken_connections(
    cluster: HdfsCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = native(cluster)
    table_in(options)
    drawn = random.Random(1)

    def when(_: Kind, number: int) -> str:
        return {3: "before", 6: "after"}.get(number) or drawn.choices(["", "before", "after"], [24, 1, 1])[0]

    handles = [load_catalog(options).load_table("db.t") for _ in range(3)]

    with monkeypatch.context() as during:
        broken = break_connections(during, when)
        outcomes = commit_side_by_side(handles, 5)
    assert {(kind, fate) for kind in KINDS for fate in ("before", "after")} <= broken
    check_outcomes(load_catalog(options).load_table("db.t"), outcomes)
    assert len(outcomes.acknowledged) > 10


@pytest.fixture(scope="module")
def shared(cluster: HdfsCluster, peers: Callable[[str], PaimonPeer]) -> Callable[[str], SharedLake]:
    """A warehouse of both, by one of its names: the real Paimon needs no option for either."""

    def open_both(name: str) -> SharedLake:
        options = native(cluster) if name == "hdfs" else of_rest(cluster)
        uri = options.pop("warehouse")
        theirs = peers(VERSIONS[-1]).with_catalog(options)
        return SharedLake(uri, load_catalog({"warehouse": uri, **options}), theirs)

    return open_both


@pytest.mark.parametrize(
    ("name", "by_us", "partitions"),
    [("webhdfs", False, ("plain", "a/b", "中")), ("hdfs", True, ("plain", "a/b", "x=%y", "a:b", "中"))],
)
def test_the_real_paimon_and_we_write_one_table_in_turn(
    name: str, by_us: bool, partitions: tuple[str, ...], shared: Callable[[str], SharedLake]
) -> None:
    write_in_turn(shared(name), {"deletion-vectors.enabled": "true"}, partitions, by_us=by_us)


def test_the_real_paimon_and_we_commit_at_the_same_time_and_nothing_is_lost(
    shared: Callable[[str], SharedLake],
) -> None:
    lake = shared("webhdfs")
    make(lake, {"write-only": "true"}, by_us=True, keys=[])

    def commit(by_us: bool) -> None:
        for number in range(5):
            write(lake, [(number + 100 * by_us, "a", number)], by_us=by_us)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(commit, (True, False)))
    assert len(lake.theirs.snapshot_ids(lake.uri, "db.t")) == 10
    assert read(lake) == sorted((n + 100 * by_us, "a", n) for n in range(5) for by_us in (True, False))
