"""Tables in Google Cloud Storage, on an emulator: the same rows as on a disk, no commit of several writers lost, and
the real Paimon beside us.

Maven Central does not have paimon-gs, the real Paimon's own access. It reaches the store by Hadoop, with a newer
version of the connector of Google that paimon-gs contains.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from table_format import Schema, load_catalog
from tests.oracle.conftest import SharedLake
from tests.oracle.install import FAKE_GCS_PROGRAM, GCS_CONNECTOR_JAR, VERSIONS
from tests.oracle.peer import DIRECTORY, PaimonPeer
from tests.oracle.shared_tables import make, read, write, write_in_turn
from tests.support.fake_gcs import FakeGcs, running_fake_gcs
from tests.support.other_servers import skip_without
from tests.support.s3_server import Fault, Request
from tests.table.test_object_stores import (
    COLUMNS,
    check_outcomes,
    check_same_life,
    commit_side_by_side,
)

pytestmark = pytest.mark.oracle

NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[FakeGcs]:
    skip_without(FAKE_GCS_PROGRAM)
    with running_fake_gcs() as running:
        running.make_bucket("tables")
        yield running


def warehouse(server: FakeGcs) -> dict[str, str]:
    return {"warehouse": f"gs://tables/{next(NUMBERS)}", **server.options}


@pytest.mark.parametrize("kind", ["append, partitioned", "key", "deletion vectors"])
def test_a_table_returns_the_same_as_on_a_disk(kind: str, server: FakeGcs, tmp_path: Path) -> None:
    check_same_life(kind, {"warehouse": str(tmp_path)}, warehouse(server))


def test_every_acknowledged_commit_of_two_writers_is_there_once_in_spite_of_faults(server: FakeGcs) -> None:
    options = warehouse(server)
    load_catalog(options).create_database("db")
    load_catalog(options).create_table("db.t", Schema.from_arrow(COLUMNS))
    drawn = random.Random(1)

    def fault(_: Request) -> Fault | None:
        return drawn.choices([None, Fault.REFUSED, Fault.LOST_ANSWER], [30, 1, 1])[0]

    with server.failing(fault):
        outcomes = commit_side_by_side([load_catalog(options).load_table("db.t") for _ in range(2)], 6)
    check_outcomes(load_catalog(options).load_table("db.t"), outcomes)
    assert outcomes.given_up == set()
    assert len(outcomes.acknowledged) > 6


@pytest.fixture(scope="module")
def theirs(server: FakeGcs) -> Iterator[PaimonPeer]:
    skip_without(GCS_CONNECTOR_JAR)
    settings = {
        "impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
        "storage.root.url": f"{server.endpoint}/",
        "project.id": "shop",
        "auth.service.account.enable": "false",
        "auth.null.enable": "true",
    }
    options = {f"hadoop.fs.gs.{key}": value for key, value in settings.items()}
    with PaimonPeer(VERSIONS[-1], options, libraries=[DIRECTORY / GCS_CONNECTOR_JAR]) as running:
        yield running


@pytest.fixture
def shared(server: FakeGcs, theirs: PaimonPeer) -> SharedLake:
    """A warehouse of both that does not exist yet."""
    options = warehouse(server)
    return SharedLake(options["warehouse"], load_catalog(options), theirs)


@pytest.mark.parametrize("by_us", [True, False], ids=["ours", "theirs"])
def test_the_real_paimon_and_we_write_one_table_in_turn(shared: SharedLake, by_us: bool) -> None:
    write_in_turn(shared, {"deletion-vectors.enabled": "true"}, ("plain", "a/b", "x=%y", "a+b", "中"), by_us=by_us)


@pytest.mark.parametrize("dropped_by_us", [True, False], ids=["ours", "theirs"])
def test_what_either_drops_is_gone_for_both(shared: SharedLake, dropped_by_us: bool) -> None:
    make(shared, {"bucket": "1"}, by_us=not dropped_by_us)
    write(shared, [(1, "a", 1)], by_us=not dropped_by_us)
    if dropped_by_us:
        shared.ours.drop_table("db.t")
    else:
        shared.theirs.catalog(shared.uri, "drop_table", "db.t")
    assert shared.ours.list_tables("db") == ()
    assert shared.theirs.catalog(shared.uri, "tables", "db") == []
    make(shared, {"bucket": "1"}, by_us=not dropped_by_us)
    assert read(shared) == []
    shared.ours.drop_database("db", cascade=True)
    assert shared.theirs.catalog(shared.uri, "databases") == []
    assert shared.ours.list_databases() == ()


def acting_before_snapshot(method: str, act: Callable[[], object]) -> Callable[[Request], Fault | None]:
    """Act once, when the first request arrives by which we (``PUT``) or they (``POST``) make the second snapshot."""
    left = [act]

    def look(request: Request) -> None:
        if left and request.method == method and request.path.endswith("/snapshot/snapshot-2"):
            left.pop()()

    return look


def test_our_commit_goes_on_behind_a_snapshot_that_paimon_publishes_first(server: FakeGcs, shared: SharedLake) -> None:
    make(shared, {"bucket": "1", "write-only": "true"}, by_us=True)
    write(shared, [(1, "a", 1)], by_us=True)
    with server.failing(acting_before_snapshot("PUT", lambda: write(shared, [(2, "theirs", 2)], by_us=False))):
        write(shared, [(3, "ours", 3)], by_us=True)
    assert read(shared) == [(1, "a", 1), (2, "theirs", 2), (3, "ours", 3)]


def test_a_snapshot_that_paimon_publishes_at_the_same_moment_replaces_ours(server: FakeGcs, shared: SharedLake) -> None:
    # As in S3: without a lock, only one engine at a time may write. If this fails, change the documents.
    make(shared, {"bucket": "1", "write-only": "true"}, by_us=True)
    write(shared, [(1, "a", 1)], by_us=True)
    with server.failing(acting_before_snapshot("POST", lambda: write(shared, [(3, "ours", 3)], by_us=True))):
        write(shared, [(2, "theirs", 2)], by_us=False)
    assert read(shared) == [(1, "a", 1), (2, "theirs", 2)]
