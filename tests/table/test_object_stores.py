"""Tables in an object store: the same rows as on a disk, few requests, and no commit lost or doubled by faults."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

from table_format import ObjectTable, Schema, Table, load_catalog
from table_format.errors import CommitOutcomeUnknown, UnsupportedFeature
from table_format.secrets import Secret
from tests.support.gcs_server import GcsServer, running_gcs
from tests.support.oss_server import OssServer, running_oss
from tests.support.s3_server import Fault, Request, S3Server, running_s3

COLUMNS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("dt", pa.string()), ("v", pa.int64())])
NUMBERS = count()
KINDS: dict[str, dict[str, object]] = {
    "append": {},
    "append, partitioned": {"partition_keys": ["dt"]},
    "key": {"primary_keys": ["id"], "options": {"bucket": "2", "changelog-producer": "lookup"}},
    "deletion vectors": {"primary_keys": ["id"], "options": {"bucket": "1", "deletion-vectors.enabled": "true"}},
    "dynamic buckets": {"primary_keys": ["id"], "options": {"bucket": "-1"}},
    "file index": {"options": {"file-index.bloom-filter.columns": "id"}},
    "orc": {"primary_keys": ["id"], "options": {"bucket": "1", "file.format": "orc"}},
    "avro": {"primary_keys": ["id"], "options": {"bucket": "1", "file.format": "avro"}},
}


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with running_s3() as running:
        running.make_bucket("tables")
        yield running


@pytest.fixture(scope="module")
def gcs_server() -> Iterator[GcsServer]:
    with running_gcs() as running:
        running.make_bucket("tables")
        yield running


@pytest.fixture(scope="module")
def oss_server() -> Iterator[OssServer]:
    with running_oss() as running:
        running.make_bucket("tables")
        yield running


def warehouse(server: S3Server) -> dict[str, str]:
    return {"warehouse": f"{server.scheme}://tables/{next(NUMBERS)}", **server.options}


def rows(*numbers: int, value: int = 0) -> pa.Table:
    columns = {"id": list(numbers), "dt": [f"d/{n % 2}" for n in numbers], "v": [n + value for n in numbers]}
    return pa.table(columns, schema=COLUMNS)


def life_of(table: Table) -> list[object]:
    """What a table returns at several points of a life with most operations."""
    returned: list[object] = []

    def read() -> None:
        returned.append(sorted(table.scan().to_arrow().to_pylist(), key=str))

    table.append(rows(*range(20)))
    table.append(rows(*range(10, 30), value=100))
    read()
    table.create_tag("t")
    table.delete("id = 3")
    table.update({"v": "v + 1"}, "id < 5")
    read()
    table.compact(full=True)
    table.create_branch("b", tag="t")
    returned.append(len(table.scan(filter="id = 7").to_arrow()))
    returned.append(len(table.scan(options={"scan.tag-name": "t"}).to_arrow()))
    table.rollback_to("t")
    read()
    table.append(rows(50))
    table.expire_snapshots(retain_min=1, retain_max=1)
    table.remove_orphan_files()
    read()
    assert table.verify(depth="rows").is_healthy
    table.delete_branch("b")
    return returned


def check_same_life(kind: str, *catalogs: Mapping[str, str | Secret]) -> None:
    """A table of a kind returns the same in each catalog, and its names are free again after it is dropped."""
    returned = []
    for options in catalogs:
        catalog = load_catalog(options)
        catalog.create_database("db")
        returned.append(life_of(catalog.create_table("db.t", Schema.from_arrow(COLUMNS, **KINDS[kind]))))
        catalog.drop_table("db.t")
        catalog.create_table("db.t", Schema.from_arrow(COLUMNS))
        assert catalog.load_table("db.t").scan().to_arrow().num_rows == 0
        catalog.drop_database("db", cascade=True)
        catalog.create_database("db")
        catalog.drop_database("db")
        assert catalog.list_databases() == ()
    assert all(found == returned[0] for found in returned)


class Outcomes(NamedTuple):
    """What became of rows, each of which was a commit of its own."""

    acknowledged: set[int]
    unknown: set[int]
    given_up: set[int]


def commit_side_by_side(handles: Sequence[Table], commits: int) -> Outcomes:
    """Commit rows with all handles of a table at the same time."""
    outcomes = Outcomes(set(), set(), set())

    def write(writer: int) -> None:
        for number in range(writer * 100, writer * 100 + commits):
            try:
                handles[writer].append(rows(number))
                outcomes.acknowledged.add(number)
            except CommitOutcomeUnknown:
                outcomes.unknown.add(number)
            except OSError:
                outcomes.given_up.add(number)

    with ThreadPoolExecutor(len(handles)) as pool:
        list(pool.map(write, range(len(handles))))
    return outcomes


def check_outcomes(table: Table, outcomes: Outcomes) -> None:
    """Each acknowledged row is in the table once, and no row of a commit that was given up."""
    found = table.scan(columns=["id"]).to_arrow().column("id").to_pylist()
    assert len(found) == len(set(found))
    assert outcomes.acknowledged <= set(found) <= outcomes.acknowledged | outcomes.unknown
    assert table.verify(depth="rows").is_healthy


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_returns_the_same_as_on_a_disk(kind: str, server: S3Server, tmp_path: Path) -> None:
    check_same_life(kind, {"warehouse": str(tmp_path)}, warehouse(server))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["append, partitioned", "key"])
@pytest.mark.parametrize("store", ["gcs_server", "oss_server"])
def test_a_table_in_another_store_returns_the_same_as_on_a_disk(
    store: str, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    check_same_life(kind, {"warehouse": str(tmp_path)}, warehouse(request.getfixturevalue(store)))


@pytest.mark.parametrize(("store", "seed"), [("server", 0), ("server", 1), ("gcs_server", 2), ("oss_server", 3)])
def test_every_acknowledged_commit_of_concurrent_writers_is_there_once_in_spite_of_faults(
    store: str, seed: int, request: pytest.FixtureRequest
) -> None:
    server: S3Server = request.getfixturevalue(store)
    options = warehouse(server)
    catalog = load_catalog(options)
    catalog.create_database("db")
    catalog.create_table("db.t", Schema.from_arrow(COLUMNS))
    drawn = random.Random(seed)

    def fault(request: Request) -> Fault | None:
        return drawn.choices([None, Fault.REFUSED, Fault.LOST_ANSWER], [20, 1, 1])[0]

    handles = [load_catalog(options).load_table("db.t") for _ in range(4)]

    with server.failing(fault):
        outcomes = commit_side_by_side(handles, 4)
    check_outcomes(load_catalog(options).load_table("db.t"), outcomes)
    assert len(outcomes.acknowledged) > 8


def test_files_outside_the_warehouse_are_refused(server: S3Server) -> None:
    catalog = load_catalog(warehouse(server))
    catalog.create_database("db")
    options = {"data-file.external-paths": "file:/tmp/x", "data-file.external-paths.strategy": "round-robin"}
    with pytest.raises(UnsupportedFeature, match=r"'data-file\.external-paths' of a table in an object store"):
        catalog.create_table("db.t", Schema.from_arrow(COLUMNS, options=options))
    table = catalog.create_table("db.t", Schema.from_arrow(COLUMNS))
    table.append(rows(1))
    (entry,) = table.facts.live_files(table.facts.snapshots.latest()).entries
    foreign = replace(entry.file, external_path=f"file:/tmp/{entry.file.file_name}")
    with pytest.raises(UnsupportedFeature, match=r"'file:/tmp/.*' outside the store of the table"):
        table.store.paths.data_file("", 0, foreign)


def test_the_files_of_an_object_table_are_in_another_store_than_its_rows(server: S3Server, tmp_path: Path) -> None:
    keys = {key: Secret(value) if "key" in key else value for key, value in server.options.items()}
    catalog = load_catalog({"warehouse": f"{tmp_path}/w", **keys})
    catalog.create_database("db")
    location = f"s3a://tables/images-{next(NUMBERS)}/"
    images = catalog.create_table("db.t", Schema((), options={"type": "object-table", "object-location": location}))
    assert isinstance(images, ObjectTable)
    assert images.refresh().file_count == 0
    files = catalog.locations.find(location)  # type: ignore[attr-defined]  # of a catalog of the library
    for name in ("a.png", "sub/b.png"):
        files.io.create(f"{files.path}/{name}", name.encode())
    before = len(server.requests)
    assert images.refresh().file_count == 2
    assert len(server.requests) - before == 1
    found = images.scan(["path", "name"], order_by="path", limit=9).to_arrow().to_pylist()
    uri = location.replace("s3a", "s3")
    assert found == [{"path": f"{uri}a.png", "name": "a.png"}, {"path": f"{uri}sub/b.png", "name": "b.png"}]
    sent = pickle.loads(pickle.dumps(images))  # noqa: S301 - made here
    with sent.open(f"{uri}sub/b.png") as file:
        assert file.read() == b"sub/b.png"
    assert server.secret not in repr((catalog, images, sent))


def test_a_scan_makes_one_request_for_each_small_file_and_few_for_the_snapshot(server: S3Server) -> None:
    catalog = load_catalog(warehouse(server))
    catalog.create_database("db")
    table = catalog.create_table("db.t", Schema.from_arrow(COLUMNS))
    for number in range(3):
        table.append(rows(number))
    table.scan().to_arrow()  # reads the manifests, which are kept
    with server.counted() as requests:
        table.scan().to_arrow()
    data = [request for request in requests if "/bucket-0/" in request.path]
    assert len(data) == 3
    assert len(requests) - len(data) <= 5


def test_the_columns_of_a_large_file_are_fetched_by_few_requests(server: S3Server) -> None:
    catalog = load_catalog(warehouse(server))
    catalog.create_database("db")
    columns = pa.schema([(f"c{number}", pa.float64()) for number in range(10)])
    table = catalog.create_table("db.t", Schema.from_arrow(columns))
    drawn = random.Random(1)
    table.append(pa.table({name: [drawn.random() for _ in range(20_000)] for name in columns.names}, schema=columns))
    table.scan().to_arrow()
    for wanted, most in ((["c0"], 2), (["c0", "c9"], 3), (columns.names, 2)):
        with server.counted() as requests:
            assert table.scan(columns=wanted).to_arrow().num_rows == 20_000
        assert len([request for request in requests if "/bucket-0/" in request.path]) <= most
