"""What becomes of a commit of ours and one of the real Paimon that publish the same snapshot in S3.

We create the file of a snapshot by a conditional write. The real Paimon (``RenamingSnapshotCommit``) looks whether the
file exists, and then copies a temporary file to its name; S3 replaces what it finds there. It does so in every catalog
whose snapshots are files. A lock of the catalog, if both take it, keeps the two apart: see test_jdbc_catalogs.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.oracle.conftest import SharedLake
from tests.oracle.shared_tables import make, read, write
from tests.support.s3_server import Fault, Request, S3Server


def acting_before_snapshot(number: int, act: Callable[[], object]) -> Callable[[Request], Fault | None]:
    """Act once, when the first request arrives that makes the file of a snapshot."""
    left = [act]

    def look(request: Request) -> None:
        if left and request.method == "PUT" and request.path.endswith(f"/snapshot/snapshot-{number}"):
            left.pop()()

    return look


def test_our_commit_goes_on_behind_a_snapshot_that_paimon_publishes_first(
    moto: S3Server, lake_on_moto: SharedLake
) -> None:
    make(lake_on_moto, {"bucket": "1", "write-only": "true"}, by_us=True)
    write(lake_on_moto, [(1, "a", 1)], by_us=True)
    with moto.failing(acting_before_snapshot(2, lambda: write(lake_on_moto, [(2, "theirs", 2)], by_us=False))):
        write(lake_on_moto, [(3, "ours", 3)], by_us=True)
    assert lake_on_moto.theirs.snapshot_ids(lake_on_moto.uri, "db.t") == [1, 2, 3]
    assert read(lake_on_moto) == [(1, "a", 1), (2, "theirs", 2), (3, "ours", 3)]


def test_a_snapshot_that_paimon_publishes_at_the_same_moment_replaces_ours(
    moto: S3Server, lake_on_moto: SharedLake
) -> None:
    # This is why, without a lock, only one engine at a time may write. If this fails, Paimon has changed:
    # change the documents.
    make(lake_on_moto, {"bucket": "1", "write-only": "true"}, by_us=True)
    write(lake_on_moto, [(1, "a", 1)], by_us=True)
    with moto.failing(acting_before_snapshot(2, lambda: write(lake_on_moto, [(3, "ours", 3)], by_us=True))):
        write(lake_on_moto, [(2, "theirs", 2)], by_us=False)
    assert lake_on_moto.theirs.snapshot_ids(lake_on_moto.uri, "db.t") == [1, 2]
    assert read(lake_on_moto) == [(1, "a", 1), (2, "theirs", 2)]
