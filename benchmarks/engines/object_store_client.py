"""A client of ``benchmarks.object_store``: this project, or the Python client of Apache Paimon.

It is started by path, so that it runs in an environment without this project.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

FIELDS = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])
OPTIONS = {"bucket": "4"}
ROWS = 1000


class Own:
    """This project."""

    def __init__(self, endpoint: str, key: str, secret: str, warehouse: str) -> None:
        sys.path.insert(0, str(Path(__file__).parent.parent.parent))
        from table_format import load_catalog

        keys = {"s3.endpoint": endpoint, "s3.access-key": key, "s3.secret-key": secret}
        self.catalog = load_catalog({"warehouse": warehouse, **keys})
        self.table: Any = None

    def create(self) -> None:
        from table_format import Schema

        self.catalog.create_database("db")
        self.catalog.create_table("db.t", Schema.from_arrow(FIELDS, primary_keys=["k"], options=OPTIONS))

    def load(self) -> None:
        self.table = self.catalog.load_table("db.t")

    def append(self, rows: pa.Table) -> None:
        self.table.append(rows)

    def scan(self) -> int:
        return self.table.scan().to_arrow().num_rows

    def find(self, key: int) -> int:
        return self.table.scan(filter=f"k = {key}").to_arrow().num_rows


class PyPaimon:
    """The Python client of Apache Paimon."""

    def __init__(self, endpoint: str, key: str, secret: str, warehouse: str) -> None:
        from pypaimon import CatalogFactory

        keys = {"fs.s3.endpoint": endpoint, "fs.s3.accessKeyId": key, "fs.s3.accessKeySecret": secret}
        keys["fs.s3.region"] = "us-east-1"
        self.catalog = CatalogFactory.create({"warehouse": warehouse, **keys})
        self.table: Any = None

    def create(self) -> None:
        from pypaimon import Schema

        self.catalog.create_database("db", True)
        self.catalog.create_table("db.t", Schema.from_pyarrow_schema(FIELDS, primary_keys=["k"], options=OPTIONS), True)

    def load(self) -> None:
        self.table = self.catalog.get_table("db.t")

    def append(self, rows: pa.Table) -> None:
        builder = self.table.new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(rows)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    def scan(self) -> int:
        return self._read(self.table.new_read_builder())

    def find(self, key: int) -> int:
        builder = self.table.new_read_builder()
        return self._read(builder.with_filter(builder.new_predicate_builder().equal("k", key)))

    def _read(self, builder: Any) -> int:  # noqa: ANN401 - a class of the other environment
        return builder.new_read().to_arrow(builder.new_scan().plan().splits()).num_rows


def step(name: str, work: Callable[[], object]) -> None:
    """Wait for a line, do the work, and tell how long it took."""
    print("READY", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    work()
    print("STEP " + json.dumps([name, time.perf_counter() - began]), flush=True)


def batch(number: int) -> pa.Table:
    keys = range(number * ROWS // 2, number * ROWS // 2 + ROWS)
    return pa.table({"k": keys, "v": [f"{number}-{key}" for key in keys]}, schema=FIELDS)


def main(client: Own | PyPaimon) -> None:
    client.create()
    step("load the table", client.load)
    step("first commit of the process, 4 buckets", lambda: client.append(batch(0)))
    step("a commit, 4 buckets", lambda: client.append(batch(1)))
    step("a scan, 8 files", client.scan)
    step("a scan of the same snapshot", client.scan)
    step("look up a key", lambda: client.find(3))


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    main((Own if kind == "own" else PyPaimon)(*arguments))
