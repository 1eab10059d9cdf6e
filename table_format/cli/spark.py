"""Runs statements on a Spark session; the only module of the command line that uses Spark."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
import pyarrow as pa

from table_format.cli.errors import first_line
from table_format.cli.output import Target, write_batches
from table_format.cli.progress import spinner
from table_format.cli.session import Session
from table_format.errors import PackageMissing
from table_format.extras import require
from table_format.java import default_launchers, find_java

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def run_on_spark(session: Session, statements: str, *, limit: int | None, target: Target) -> None:
    """Run statements and write the rows of the last one, one Spark partition at a time.

    Raises:
        PackageMissing: pyspark, or grpc for a Spark Connect server, is not installed.
        JavaNotFound: Spark runs in this process, and there is no Java for it.
        click.ClickException: Spark refuses a statement.
        TableFormatError: a statement cannot be read or fails.
    """
    _ = session.catalog  # report an error in the settings before Spark starts
    try:
        require("pyspark")
    except PackageMissing as error:
        message = f"{error}. For a query without Spark, add --engine duckdb"
        raise PackageMissing(message) from error
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    from table_format.spark import paimon

    _silence_errors()
    active = SparkSession.getActiveSession()
    try:
        with spinner("starting Spark"):
            spark = active or _new_session()
        try:
            frame = paimon(spark, session.settings).sql(statements)
            rows = frame if limit is None else frame.limit(limit)
            if rows.columns:
                _write(rows, target)
        finally:
            if active is None:
                spark.stop()
    except PySparkException as error:
        raise click.ClickException(first_line(error)) from error


def _silence_errors() -> None:
    """Stop pyspark from logging tracebacks of errors: the command line shows them as one line."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _new_session() -> SparkSession:
    """Start a session in this process, or connect to the server in ``SPARK_REMOTE``."""
    if os.environ.get("SPARK_REMOTE", "").startswith("sc://"):
        require("grpc")
    else:
        os.environ["JAVA_HOME"] = str(find_java(os.environ, launchers=default_launchers()).home)
    from pyspark.sql import SparkSession

    # The workers run the same Python.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("lakehouse").config("spark.ui.enabled", "false")
    if "SPARK_REMOTE" not in os.environ and "MASTER" not in os.environ:
        builder = builder.master("local[*]")
        if os.environ["PYSPARK_PYTHON"] == sys.executable:
            builder = builder.config("spark.python.daemon.module", "table_format.spark.daemon")
    return builder.getOrCreate()


def _write(frame: DataFrame, target: Target) -> None:
    names = frame.columns
    # Column names may repeat; Spark's Arrow functions refuse that.
    numbered = frame.toDF(*(f"c{number}" for number in range(len(names))))
    schema = numbered.limit(0).toArrow().schema
    renamed = pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])
    write_batches(renamed, (_renamed(batch, renamed) for batch in _batches(numbered)), target)


def _batches(frame: DataFrame) -> Iterator[pa.RecordBatch]:
    """Stream the rows from Spark's tasks. Only the batches of one partition are in memory at a time."""

    # A local function is pickled by value, so the workers need not import this module.
    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield pa.RecordBatch.from_pydict({"batch": [sink.getvalue().to_pybytes()]})

    for row in frame.mapInArrow(packed, "batch binary").toLocalIterator():
        with pa.ipc.open_stream(bytes(row["batch"])) as reader:
            yield from reader


def _renamed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
