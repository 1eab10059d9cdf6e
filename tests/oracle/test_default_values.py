"""Default values: what a schema may contain has the same effect in the real Paimon, also in nested types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa

from table_format import Schema, load_catalog
from table_format.table.table import Table
from tests.oracle.peer import PaimonPeer
from tests.support.json_rows import json_rows, rows_with_floats
from tests.support.random_defaults import random_fields

COLUMNS = 400
"""Columns with a default value of a random type."""


def test_default_values_replace_nulls_as_in_the_real_paimon(peers: Callable[[str], PaimonPeer], tmp_path: Path) -> None:
    fields = random_fields(Random(1), COLUMNS)
    paimon = peers("1.4.2")
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    found = []
    for name in ("db.ours", "db.theirs"):
        catalog.create_table(name, Schema(tuple(fields), options={"bucket": "-1"}))
        table = catalog.load_table(name)
        assert isinstance(table, Table)
        if name == "db.ours":
            table.append(pa.table({f.name: pa.nulls(1) for f in fields}))
        else:
            paimon.write(tmp_path, name, [["+I", [None] * len(fields)]])
        read = rows_with_floats(paimon.read(tmp_path, name)["rows"], fields)
        assert json_rows(table.scan().to_arrow(), table.schema.fields) == read
        found.append(read)
    wrong = [
        (str(field), ours, theirs)
        for field, ours, theirs in zip(fields, found[0][0], found[1][0], strict=True)
        if ours != theirs
    ]
    assert not wrong
