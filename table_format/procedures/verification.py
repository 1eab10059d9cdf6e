"""The procedure that checks a table for damage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from table_format.model.arrow_calls import schema
from table_format.procedures.arguments import FLAG, PARTITIONS, Argument, choice
from table_format.procedures.declare import TABLE, Call, Procedure, Row

_FINDINGS: Final = schema(
    [
        ("severity", pa.string()),
        ("check", pa.string()),
        ("path", pa.string()),
        ("partition", pa.string()),
        ("bucket", pa.int32()),
        ("expected", pa.string()),
        ("found", pa.string()),
    ]
)


def _verify(call: Call) -> Iterable[Row]:
    report = call.operations.verify(
        call.table(), depth=call["depth"], partitions=call["partitions"], repair=call["repair"]
    )
    return [
        (each.severity.value, each.check, each.path, each.partition, each.bucket, each.expected, each.found)
        for each in report.findings
    ]


VERIFY: Final = Procedure(
    "verify",
    "Check that files, metadata and rows agree. Returns one row per finding, and none for a healthy table.",
    (
        TABLE,
        Argument(
            "depth",
            choice("metadata", "files", "rows"),
            "Check only snapshots and manifests, or also every file, or also every row of the latest state.",
            default="files",
        ),
        Argument("partitions", PARTITIONS, "Check only the files of these partitions; by default all."),
        Argument("repair", FLAG, "Correct wrong hints; nothing else is changed.", default=False),
    ),
    _verify,
    _FINDINGS,
)
