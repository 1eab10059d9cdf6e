"""What a new user does with the wheel: README's example of the library, then one use of each extra on its table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.support.code_blocks import code_blocks
from tests.support.foreign_project import ROOT

LIBRARY: Final = code_blocks((ROOT / "README.md").read_text())[1]
"""README's tour of the library; it leaves the table ``shop.orders`` below ``warehouse``."""

ROWS: Final = {1: "paid", 3: "new"}
"""The rows that the example leaves, ids and states."""

SHOW: Final = """
import json
from pathlib import Path
from table_format import load_catalog
table = load_catalog({"warehouse": "warehouse"}).load_table("shop.orders")
def show_line(value):
    with Path("shown.jsonl").open("a") as shown:
        print(json.dumps(value, sort_keys=True), file=shown)
def show(rows):
    show_line({int(row["id"]): row["state"] for row in rows})
"""
"""Begins each program. What it shows goes to a file, for engines print their progress."""


@dataclass(frozen=True)
class Use:
    """Code that shows the rows of the table, after ``SHOW``."""

    code: str
    brief: bool = True
    """Whether it takes no more than a few seconds."""


_SESSION: Final = """
from pyspark.sql import SparkSession
from table_format.spark import paimon
spark = {builder}.config("spark.ui.enabled", "false").getOrCreate()
lake = paimon(spark, {{"warehouse": "warehouse"}})
lake.write(spark.createDataFrame([(9, "void", None)], "id LONG, state STRING, amount DECIMAL(10, 2)"), "shop.orders")
lake.delete("shop.orders", "id = 9")
show(row.asDict() for row in lake.sql("SELECT id, state FROM shop.orders").collect())
spark.stop()
"""

USES: Final[Mapping[str, tuple[Use, ...]]] = {
    "": (Use("show(table.scan().to_arrow().to_pylist())"),),
    "cli": (
        Use(
            "import subprocess, sys\n"
            "command = [sys.executable, *'-m table_format.cli -w warehouse scan shop.orders --format jsonl'.split()]\n"
            "printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout\n"
            "show(map(json.loads, printed.splitlines()))"
        ),
    ),
    "pandas": (Use("show(table.scan().to_pandas().to_dict('records'))"),),
    "polars": (
        Use("show(table.scan().to_polars().to_dicts())"),
        Use("show(table.scan().to_polars_lazy().collect().to_dicts())"),
    ),
    "s3": (
        Use(
            "import os\n"
            "from table_format import Schema\n"
            "keys = {'s3.access-key': 'k', 's3.secret-key': 's', 's3.endpoint': os.environ['S3_ENDPOINT']}\n"
            "remote = load_catalog({'warehouse': f's3://wheel/{os.getpid()}', **keys})\n"
            "remote.create_database('shop')\n"
            "copied = remote.create_table('shop.orders', Schema.from_arrow(table.arrow_schema))\n"
            "copied.append(table.scan().to_arrow())\n"
            "show(copied.scan().to_arrow().to_pylist())"
        ),
    ),
    "hdfs": (
        Use(
            "away = load_catalog({'warehouse': 'webhdfs://127.0.0.1:1/warehouse'})\n"
            "try:\n"
            "    away.list_databases()\n"
            "except OSError as error:\n"
            "    assert 'no answer through 127.0.0.1:1' in str(error), error\n"
            "    show(table.scan().to_arrow().to_pylist())"
        ),
    ),
    "jdbc": (
        Use(
            "import os, sqlalchemy, psycopg, pymysql\n"
            "own = {'metastore': 'jdbc', 'uri': f'jdbc:sqlite:names-{os.getpid()}.db'}\n"
            "named = load_catalog({'warehouse': f'named-{os.getpid()}', **own})\n"
            "named.create_database('shop')\n"
            "from table_format import Schema\n"
            "copied = named.create_table('shop.orders', Schema.from_arrow(table.arrow_schema))\n"
            "copied.append(table.scan().to_arrow())\n"
            "show(copied.scan().to_arrow().to_pylist())"
        ),
    ),
    "hive": (
        Use(
            "from table_format.catalog.hive.metastore import thrift\n"
            "from table_format.errors import MetastoreUnavailable\n"
            "assert thrift().Table(tableName='orders').tableName == 'orders'\n"
            "listed = load_catalog({'warehouse': 'warehouse', 'metastore': 'hive', 'uri': 'thrift://127.0.0.1:1'})\n"
            "try:\n"
            "    listed.list_databases()\n"
            "except MetastoreUnavailable:\n"
            "    show(table.scan().to_arrow().to_pylist())"
        ),
    ),
    "rest": (
        Use(
            "from table_format.errors import MetastoreUnavailable\n"
            "own = {'metastore': 'rest', 'uri': 'http://127.0.0.1:1', 'token.provider': 'bear', 'token': 'secret'}\n"
            "try:\n"
            "    load_catalog({'warehouse': 'lake', **own})\n"
            "except MetastoreUnavailable as error:\n"
            "    assert 'the server cannot be reached' in str(error), error\n"
            "    show(table.scan().to_arrow().to_pylist())"
        ),
    ),
    "duckdb": (Use("show(table.scan().to_duckdb().select('id, state').arrow().read_all().to_pylist())"),),
    "dagster": (
        Use(
            "import dagster as dg, pyarrow as pa\n"
            "from dagster_paimon import LakehouseCatalog, PaimonIOManager, SparkResource\n"
            "lakehouse = LakehouseCatalog(warehouse='warehouse')\n"
            "io = PaimonIOManager(lakehouse=lakehouse, spark=SparkResource())\n"
            "@dg.asset(key=['shop', 'copied'], io_manager_key='io')\n"
            "def copied() -> pa.Table:\n"
            "    return table.scan(columns=['id', 'state']).to_arrow()\n"
            "assert dg.materialize([copied], resources={'io': io}).success\n"
            "show(lakehouse.table('shop.copied').scan().to_arrow().to_pylist())"
        ),
    ),
    "spark": (
        Use("import pandas, table_format.spark\nshow(table.scan().to_arrow().to_pylist())"),
        Use(_SESSION.format(builder='SparkSession.builder.master("local[2]")'), brief=False),
    ),
    "connect": (
        Use("from pyspark.sql.connect.session import SparkSession\nshow(table.scan().to_arrow().to_pylist())"),
        Use(_SESSION.format(builder='SparkSession.builder.remote("local[2]")'), brief=False),
    ),
}
"""For each extra, and for none, what becomes possible with it."""

MISSING: Final = """
from table_format.errors import PackageMissing
from table_format.extras import EXTRAS, require
found = {}
for package in EXTRAS:
    try:
        require(package)
    except PackageMissing as error:
        found[package] = str(error)
show_line(found)
"""
"""Shows for each package of an extra that is missing here what the error says, after ``SHOW``."""
