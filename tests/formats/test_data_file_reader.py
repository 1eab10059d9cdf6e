"""Rows of a file are returned with the read schema: renamed, reordered, added, dropped and cast columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from table_format.errors import BadEncoding, UnsupportedFeature
from table_format.formats.evolution import BoundsEvolution
from table_format.kernels.bounds import ColumnBounds
from table_format.model.predicate import And, Compare, CompareOp, IsNull, Predicate
from table_format.model.schema import SEQUENCE_NUMBER
from table_format.model.types import (
    ArrayType,
    BigIntType,
    DataField,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    MapType,
    RowType,
    TimestampType,
    VarCharType,
)
from tests.formats.files import Bucket, a_batch, a_schema, parquet_bytes

OLD = a_schema(
    DataField(0, "a", IntType()),
    DataField(1, "b", VarCharType(length=5)),
    DataField(2, "c", DecimalType(precision=10, scale=2)),
)
OLD_ROWS = a_batch(OLD.fields, [{"a": 1, "b": "x", "c": 1}, {"a": None, "b": "y", "c": None}])


def test_columns_are_matched_by_id_and_not_by_name_or_place() -> None:
    new = a_schema(
        DataField(5, "a", VarCharType()),
        DataField(1, "renamed", VarCharType(length=9)),
        DataField(0, "moved", BigIntType()),
        schema_id=1,
    )
    bucket = Bucket([OLD, new])
    files = bucket.write(OLD_ROWS, schema=OLD)
    table = bucket.read(files)
    assert table.to_pylist() == [{"a": None, "renamed": "x", "moved": 1}, {"a": None, "renamed": "y", "moved": None}]
    assert table.schema.types == [pa.string(), pa.string(), pa.int64()]


def test_any_selection_in_any_order_may_be_read() -> None:
    bucket = Bucket([OLD])
    files = bucket.write(OLD_ROWS)
    assert bucket.read(files, OLD.select(["c", "a"])).column_names == ["c", "a"]
    assert bucket.read(files, ()).num_columns == 0


def test_a_selection_of_new_columns_only_still_has_all_rows() -> None:
    new = a_schema(*OLD.fields, DataField(7, "new", RowType(fields=(DataField(8, "x", IntType()),))), schema_id=1)
    bucket = Bucket([OLD, new])
    files = bucket.write(OLD_ROWS, schema=OLD)
    assert bucket.read(files, new.select(["new"])).to_pylist() == [{"new": None}, {"new": None}]


def test_fields_of_rows_evolve_by_id_at_any_depth() -> None:
    def schema(schema_id: int, *fields: DataField) -> Any:
        row = RowType(fields=fields)
        return a_schema(
            DataField(0, "r", row),
            DataField(1, "l", ArrayType(element=row)),
            DataField(2, "m", MapType(key=VarCharType(nullable=False), value=row)),
            schema_id=schema_id,
        )

    old = schema(0, DataField(10, "x", IntType()), DataField(11, "gone", IntType()), DataField(12, "z", VarCharType()))
    new = schema(
        1, DataField(12, "zz", VarCharType()), DataField(13, "x", VarCharType()), DataField(10, "y", BigIntType())
    )
    value = {"x": 1, "gone": 2, "z": "t"}
    rows = [
        {"r": None, "l": None, "m": None},
        {"r": value, "l": [value, None], "m": [("k", value), ("n", None)]},
        {"r": {"x": None, "gone": None, "z": None}, "l": [], "m": []},
    ]
    bucket = Bucket([old, new])
    files = bucket.write(a_batch(old.fields, rows), schema=old)
    now = {"zz": "t", "x": None, "y": 1}
    assert bucket.read(files, batch_rows=2).to_pylist() == [
        {"r": None, "l": None, "m": None},
        {"r": now, "l": [now, None], "m": [("k", now), ("n", None)]},
        {"r": {"zz": None, "x": None, "y": None}, "l": [], "m": []},
    ]


def test_a_renamed_row_field_keeps_its_values() -> None:
    old = a_schema(DataField(0, "r", RowType(fields=(DataField(1, "x", IntType()), DataField(2, "y", IntType())))))
    swapped = RowType(fields=(DataField(2, "x", IntType()), DataField(1, "y", IntType())))
    new = a_schema(DataField(0, "r", swapped), schema_id=1)
    bucket = Bucket([old, new])
    files = bucket.write(a_batch(old.fields, [{"r": {"x": 1, "y": 2}}]), schema=old)
    assert bucket.read(files).to_pylist() == [{"r": {"x": 2, "y": 1}}]


def test_an_unsupported_type_change_names_both_types() -> None:
    new = a_schema(DataField(0, "a", ArrayType(element=IntType())), schema_id=1)
    bucket = Bucket([OLD, new])
    files = bucket.write(OLD_ROWS, schema=OLD)
    with pytest.raises(UnsupportedFeature, match="column 'a' of type INT as ARRAY<INT>"):
        bucket.read(files)


def test_a_file_of_an_unknown_schema_is_refused() -> None:
    bucket = Bucket([OLD])
    (file,) = bucket.write(OLD_ROWS)
    with pytest.raises(BadEncoding, match="no schema 7"):
        bucket.read([replace(file, schema_id=7)])


def test_a_file_with_other_rows_than_recorded_is_refused() -> None:
    bucket = Bucket([OLD])
    (file,) = bucket.write(OLD_ROWS)
    with pytest.raises(BadEncoding, match="expected 3 rows, found 2"):
        bucket.read([replace(file, row_count=3)])


def test_a_file_without_a_column_of_its_schema_is_refused_unless_it_was_written_without() -> None:
    bucket = Bucket([OLD])
    (file,) = bucket.write(OLD_ROWS)
    data, _ = parquet_bytes(OLD.fields[:2], OLD_ROWS.select(["a", "b"]))
    path = f"/w/db.db/t/bucket-0/{file.file_name}"
    bucket.io.overwrite(path, data)
    partial = replace(file, file_size=len(data))
    with pytest.raises(BadEncoding, match="column 'c' of schema 0 is missing; the columns are a, b"):
        bucket.read([partial])
    table = bucket.read([replace(partial, write_cols=("a", "b"))])
    assert table.to_pylist() == [{"a": 1, "b": "x", "c": None}, {"a": None, "b": "y", "c": None}]


# --- system columns -------------------------------------------------------------------------------------------------

KEYED = a_schema(DataField(0, "v", VarCharType()), DataField(1, "k", IntType(nullable=False)), keys=["k"])
KEYED_ROWS = a_batch(KEYED.physical_fields, [{"_KEY_k": 5, "_SEQUENCE_NUMBER": 1, "_VALUE_KIND": 0, "v": "x", "k": 5}])


def test_system_columns_are_columns_like_others() -> None:
    bucket = Bucket([KEYED])
    files = bucket.write(KEYED_ROWS)
    fields = (KEYED.fields[0], SEQUENCE_NUMBER, *KEYED.key_fields)
    assert bucket.read(files, fields).to_pylist() == [{"v": "x", "_SEQUENCE_NUMBER": 1, "_KEY_k": 5}]


def test_keys_of_thin_files_come_from_the_value_columns() -> None:
    renamed = a_schema(KEYED.fields[0], DataField(1, "id", BigIntType(nullable=False)), keys=["id"], schema_id=1)
    bucket = Bucket([KEYED, renamed])
    (file,) = bucket.write(KEYED_ROWS, schema=KEYED)
    data, _ = parquet_bytes(KEYED.physical_fields[1:], KEYED_ROWS.select(KEYED_ROWS.schema.names[1:]))
    bucket.io.overwrite(f"/w/db.db/t/bucket-0/{file.file_name}", data)
    thin = replace(file, file_size=len(data))
    assert bucket.read([thin], schema=KEYED).to_pylist() == KEYED_ROWS.to_pylist()
    assert bucket.read([thin], renamed.select(["id"])).to_pylist() == [{"id": 5}]
    assert bucket.read([thin]).to_pylist() == [
        {"_KEY_id": 5, "_SEQUENCE_NUMBER": 1, "_VALUE_KIND": 0, "v": "x", "id": 5}
    ]


# --- predicates -----------------------------------------------------------------------------------------------------


def greater(column: str, value: Any) -> Predicate:
    return Compare(column, CompareOp.GT, value)


NUMBERS = a_schema(DataField(0, "i", IntType()), DataField(1, "s", VarCharType()))
MANY = a_batch(NUMBERS.fields, [{"i": i, "s": "x" * 50} for i in range(2000)])


@pytest.mark.parametrize(
    ("read_type", "predicate"),
    [
        (IntType(), greater("n", 1900)),
        (BigIntType(), greater("n", 1900)),
        (DoubleType(), greater("n", 1900.0)),
        (IntType(), And((greater("n", 1900), greater("absent", 1)))),
    ],
)
def test_row_groups_are_skipped_by_the_name_and_type_of_the_read_schema(read_type: Any, predicate: Predicate) -> None:
    new = a_schema(DataField(0, "n", read_type), DataField(9, "absent", IntType()), schema_id=1)
    bucket = Bucket([NUMBERS, new], {"file.block-size": "10 kb"})
    files = bucket.write(MANY, schema=NUMBERS)
    found = bucket.read(files, new.select(["n"]), predicate=predicate).column("n").to_pylist()
    if "absent" in str(predicate):
        assert found == []
    else:
        assert len(found) < 500
        assert set(range(1901, 2000)) <= set(found)


def test_a_cast_that_does_not_keep_the_order_skips_nothing() -> None:
    new = a_schema(DataField(0, "i", VarCharType()), schema_id=1)
    bucket = Bucket([NUMBERS, new], {"file.block-size": "10 kb"})
    files = bucket.write(MANY, schema=NUMBERS)
    # As text '9' is above '1999': bounds of numbers say nothing.
    assert bucket.read(files, predicate=greater("i", "9")).num_rows == 2000


def test_a_predicate_treats_a_column_that_the_file_lacks_as_null() -> None:
    new = a_schema(*NUMBERS.fields, DataField(9, "absent", IntType()), schema_id=1)
    bucket = Bucket([NUMBERS, new])
    files = bucket.write(MANY, schema=NUMBERS)
    assert bucket.read(files, predicate=IsNull("absent")).num_rows == 2000
    assert bucket.read(files, predicate=greater("absent", 0)).num_rows == 0


@pytest.mark.parametrize(
    ("old", "new", "value", "cast"),
    [
        (DateType(), TimestampType(precision=3), 1, 86_400 * 10**9),
        (BigIntType(), FloatType(), 2**24 + 1, float(2**24)),
        (IntType(), DoubleType(), 3, 3.0),
        (VarCharType(length=3), VarCharType(length=9), "a", "a"),
    ],
)
def test_bounds_are_cast_like_values(old: Any, new: Any, value: Any, cast: Any) -> None:
    evolution = BoundsEvolution([DataField(0, "o", old)], [DataField(0, "n", new)])
    (bounds,) = evolution.apply({"o": ColumnBounds(None, value, 1, 2)}).values()
    assert (bounds.minimum, bounds.maximum, bounds.null_count, bounds.row_count) == (None, cast, 1, 2)
