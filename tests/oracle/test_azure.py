"""Tables in Azure Blob Storage, on its emulator: the same rows as on a disk, and no commit of several writers lost."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, load_catalog
from table_format.secrets import Secret
from tests.oracle.install import AZURITE_PROGRAM
from tests.support.other_servers import AzuriteServer, running_azurite, skip_without
from tests.table.test_object_stores import COLUMNS, check_same_life, rows

pytestmark = pytest.mark.oracle

NUMBERS = count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzuriteServer]:
    skip_without(AZURITE_PROGRAM)
    with running_azurite(tmp_path_factory.mktemp("azurite")) as running:
        running.make_container("tables")
        yield running


def warehouse(server: AzuriteServer) -> dict[str, str | Secret]:
    return {"warehouse": f"az://tables/{next(NUMBERS)}", **server.options}


@pytest.mark.parametrize("kind", ["append, partitioned", "key", "deletion vectors"])
def test_a_table_returns_the_same_as_on_a_disk(kind: str, server: AzuriteServer, tmp_path: Path) -> None:
    check_same_life(kind, {"warehouse": str(tmp_path)}, warehouse(server))


def test_a_large_file_is_written_in_parts_and_read_in_ranges(server: AzuriteServer) -> None:
    catalog = load_catalog(warehouse(server))
    catalog.create_database("db")
    table = catalog.create_table("db.t", Schema.from_arrow(pa.schema([("a", pa.int64()), ("b", pa.int64())])))
    numbers = pa.array(range(0, 3_000_000 * 7919, 7919), pa.int64())
    table.append(pa.table({"a": numbers, "b": numbers}))
    assert table.scan(columns=["b"]).to_arrow().column("b").to_pylist() == numbers.to_pylist()


def test_the_commits_of_several_writers_are_all_there(server: AzuriteServer) -> None:
    options = warehouse(server)
    load_catalog(options).create_database("db")
    load_catalog(options).create_table("db.t", Schema.from_arrow(COLUMNS))

    def write(writer: int) -> None:
        table = load_catalog(options).load_table("db.t")
        for number in range(4):
            table.append(rows(writer * 10 + number))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, range(3)))
    found = load_catalog(options).load_table("db.t").scan(columns=["id"]).to_arrow().column("id").to_pylist()
    assert sorted(found) == [writer * 10 + number for writer in range(3) for number in range(4)]
