"""Runs in the environment of pypaimon: JSON lines in and out. It imports nothing of this project."""

from __future__ import annotations

import json
import sys
from typing import Any

import pyarrow as pa
from pypaimon import CatalogFactory  # type: ignore[import-not-found]  # installed in another environment


def opened(request: dict[str, Any]) -> Any:
    """The table of a request."""
    options = {"warehouse": request["warehouse"], **request["catalog"]}
    return CatalogFactory.create(options).get_table(request["table"])


def write(request: dict[str, Any]) -> dict[str, Any]:
    """Commit rows in one batch."""
    table = opened(request)
    from pypaimon.schema.data_types import PyarrowFieldParser  # type: ignore[import-not-found]

    schema = PyarrowFieldParser.from_paimon_schema(table.fields)
    columns = zip(*request["rows"], strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    builder = table.new_batch_write_builder()
    writer, commit = builder.new_write(), builder.new_commit()
    try:
        writer.write_arrow(pa.Table.from_arrays(arrays, schema=schema))
        commit.commit(writer.prepare_commit())
    finally:
        writer.close()
        commit.close()
    return {}


def read(request: dict[str, Any]) -> dict[str, Any]:
    """The rows of the latest snapshot."""
    builder = opened(request).new_read_builder()
    rows = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    return {"rows": [list(row.values()) for row in rows.to_pylist()]}


OPERATIONS = {"write": write, "read": read}


def main() -> None:
    """Answer each line with one."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = OPERATIONS[request["op"]](request)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other process is told
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
