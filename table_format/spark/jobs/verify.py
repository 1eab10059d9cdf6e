"""Verification as a Spark job: one task for each bucket opens its files and returns only findings."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from table_format.model.arrow_calls import schema
from table_format.model.bucket_id import BucketId
from table_format.spark.tasks.task_inputs import TaskInputs, numbers_in
from table_format.spark.tasks.worker import Batches, map_in_workers
from table_format.table.facts import TableFacts
from table_format.table.table import Table
from table_format.table.verify.report import Checked, Depth, Finding, KeyHashes, Severity, VerifyReport
from table_format.table.verify.verify import BucketWork, check_work, verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DDL: Final = "checked string"
_SCHEMA: Final = schema([("checked", pa.string())])


def verify_on_spark(
    spark: SparkSession,
    table: Table,
    *,
    depth: str,
    partitions: Sequence[Mapping[str, object]] | None,
    repair: bool,
) -> VerifyReport:
    """Verify a table. The driver reads the metadata, and a task reads the files of each bucket."""
    facts = table.current_facts

    def perform(pieces: Sequence[BucketWork]) -> Iterator[Checked]:
        numbers = spark.range(0, len(pieces), 1, len(pieces))
        check = partial(_check, facts, TaskInputs.of(pieces), Depth.of(depth))
        for row in map_in_workers(numbers, check, _DDL).collect():
            yield decode_checked(row.checked)

    with facts.explaining_drop():
        return verify(facts, depth=depth, partitions=partitions, repair=repair, perform=perform)


def _check(facts: TableFacts, pieces: TaskInputs[BucketWork], depth: Depth, numbers: Batches) -> Batches:
    for number in numbers_in(numbers):
        text = encode_checked(check_work(facts, pieces[number], depth))
        yield pa.RecordBatch.from_arrays([pa.array([text], pa.string())], schema=_SCHEMA)


def encode_checked(checked: Checked) -> str:
    """Encode the result of a task as text."""
    members = asdict(replace(checked, key_hashes=None))
    if (keys := checked.key_hashes) is not None:
        members["key_hashes"] = [_text(keys.bucket_id.partition), keys.bucket_id.bucket, _text(keys.hashes)]
    return json.dumps(members)


def decode_checked(text: str) -> Checked:
    """Decode the result of a task.

    >>> found = Checked((Finding(Severity.ERROR, "size", "/t/f", "9 bytes", "8 bytes", "dt=a", 0),), 1, 5)
    >>> decode_checked(encode_checked(found)) == found
    True
    """
    members = json.loads(text)
    findings = tuple(Finding(**{**each, "severity": Severity(each["severity"])}) for each in members["findings"])
    hashes = None
    if (keys := members["key_hashes"]) is not None:
        hashes = KeyHashes(BucketId(b64decode(keys[0]), keys[1]), b64decode(keys[2]))
    return Checked(findings, members["files"], members["rows"], hashes)


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")
