"""Tables in Google Cloud Storage, on an emulator: the same rows as on a disk, and no commit of several writers lost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from table_format import Schema, load_catalog
from table_format.errors import CommitOutcomeUnknown
from tests.oracle.install import FAKE_GCS_PROGRAM
from tests.support.fake_gcs import FakeGcs, running_fake_gcs
from tests.support.other_servers import skip_without
from tests.support.s3_server import Fault, Request
from tests.table.test_object_stores import COLUMNS, check_same_life, rows

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

    def write(writer: int) -> tuple[list[int], list[int]]:
        done, unknown = [], []
        table = load_catalog(options).load_table("db.t")
        for number in range(writer * 100, writer * 100 + 6):
            try:
                table.append(rows(number))
                done.append(number)
            except CommitOutcomeUnknown:
                unknown.append(number)
        return done, unknown

    with server.failing(fault), ThreadPoolExecutor(2) as pool:
        written = list(pool.map(write, range(2)))
    acknowledged = {number for done, _ in written for number in done}
    unknown = {number for _, numbers in written for number in numbers}
    found = load_catalog(options).load_table("db.t").scan(columns=["id"]).to_arrow().column("id").to_pylist()
    assert len(found) == len(set(found))
    assert acknowledged <= set(found) <= acknowledged | unknown
    assert len(acknowledged) > 6
    assert load_catalog(options).load_table("db.t").verify(depth="rows").is_healthy
