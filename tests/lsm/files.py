"""Data files that exist only as metadata, for tests of pure decisions."""

from __future__ import annotations

from table_format.codecs.binary_row import serialize_row
from table_format.lsm.keys import KeyRangeOf, key_ranges
from table_format.model.data_file import EMPTY_STATS, DataFileMeta
from table_format.model.schema import TableSchema
from table_format.model.types import BigIntType, DataField, IntType

SCHEMA = TableSchema(
    id=0,
    fields=(DataField(0, "k", IntType(nullable=False)), DataField(1, "v", BigIntType())),
    highest_field_id=1,
    primary_keys=("k",),
)


def a_file(
    name: str,
    *,
    level: int = 0,
    size: int = 1,
    keys: tuple[int, int] = (0, 9),
    sequence: tuple[int, int] = (0, 0),
    deletes: int | None = 0,
    created: int = 0,
) -> DataFileMeta:
    """A file of ``SCHEMA`` with this key range."""
    types = [IntType(nullable=False)]
    return DataFileMeta(
        file_name=name,
        file_size=size,
        row_count=1,
        min_key=serialize_row(types, [keys[0]]),
        max_key=serialize_row(types, [keys[1]]),
        key_stats=EMPTY_STATS,
        value_stats=EMPTY_STATS,
        min_sequence_number=sequence[0],
        max_sequence_number=sequence[1],
        schema_id=0,
        level=level,
        creation_time=created,
        delete_row_count=deletes,
    )


def key_range_of_test_files() -> KeyRangeOf:
    """A function that returns the key range of the files of ``a_file``."""
    return key_ranges(SCHEMA)


def names(files: object) -> list[str]:
    """The file names."""
    return [file.file_name for file in files]  # type: ignore[attr-defined]
