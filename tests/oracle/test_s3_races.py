"""What becomes of a commit of ours and one of the real Paimon that publish the same snapshot in S3.

We create the file of a snapshot by a conditional write. The real Paimon (``RenamingSnapshotCommit``) looks whether the
file exists, and then copies a temporary file to its name; S3 replaces what it finds there. It does so on every catalog
whose snapshots are files, with or without a lock, which we do not take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from table_format import Catalog, Schema, load_catalog
from tests.oracle.install import S3_VERSION
from tests.oracle.peer import PaimonPeer
from tests.oracle.test_s3 import SCHEMA, arrow, ours, table_of, theirs
from tests.support.s3_server import Fault, Request, S3Server, running_s3


@pytest.fixture(scope="module")
def watched() -> Iterator[S3Server]:
    """A server that lets a test act just before a request."""
    with running_s3() as server:
        yield server


@pytest.fixture(scope="module")
def paimon(watched: S3Server, s3_jar: None) -> Iterator[PaimonPeer]:
    with PaimonPeer(S3_VERSION, watched.options) as running:
        yield running


@pytest.fixture
def place(watched: S3Server, request: pytest.FixtureRequest) -> str:
    return f"{watched.make_bucket(request.node.name.replace('_', '-')[:60])}/w"


@pytest.fixture
def lake(watched: S3Server, place: str) -> Catalog:
    """A warehouse with a table that has one snapshot."""
    catalog = load_catalog({"warehouse": place, **watched.options})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema.from_arrow(SCHEMA, ["k", "pt"], [], {"bucket": "1", "write-only": "true"}))
    table_of(catalog).append(arrow([(1, "a", 1)]))
    return catalog


def acting_before_snapshot(number: int, act: Callable[[], object]) -> Callable[[Request], Fault | None]:
    """Act once, when the first request arrives that makes the file of a snapshot."""
    left = [act]

    def look(request: Request) -> None:
        if left and request.method == "PUT" and request.path.endswith(f"/snapshot/snapshot-{number}"):
            left.pop()()

    return look


def test_our_commit_goes_on_behind_a_snapshot_that_paimon_publishes_first(
    watched: S3Server, paimon: PaimonPeer, lake: Catalog, place: str
) -> None:
    act = acting_before_snapshot(2, lambda: paimon.write(place, "db.t", [["+I", [2, "theirs", 2]]]))
    with watched.failing(act):
        table_of(lake).append(arrow([(3, "ours", 3)]))
    assert paimon.snapshot_ids(place, "db.t") == [1, 2, 3]
    assert ours(lake) == theirs(paimon, place) == [(1, "a", 1), (2, "theirs", 2), (3, "ours", 3)]


def test_a_snapshot_that_paimon_publishes_at_the_same_moment_replaces_ours(
    watched: S3Server, paimon: PaimonPeer, lake: Catalog, place: str
) -> None:
    # This is why the documents allow one engine at a time to write. When it fails, Paimon has learned better.
    act = acting_before_snapshot(2, lambda: table_of(lake).append(arrow([(3, "ours", 3)])))
    with watched.failing(act):
        paimon.write(place, "db.t", [["+I", [2, "theirs", 2]]])
    assert paimon.snapshot_ids(place, "db.t") == [1, 2]
    assert ours(lake) == theirs(paimon, place) == [(1, "a", 1), (2, "theirs", 2)]
