"""Converts data files and their statistics to Avro records and back.

All fields of release 1.4 are written in its order, and missing values as null: readers from 0.9 on accept that, and
some newer ones require it. Fields that a file lacks are read as null, and unknown fields are skipped. Format chapter
04, sections 3 to 5; Java ``DataFileMetaSerializer``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from table_format.codecs.file_names import is_safe_file_name
from table_format.errors import BadEncoding
from table_format.limits import MAX_INT, MAX_SEQUENCE_NUMBER
from table_format.model.data_file import DataFileMeta, FileSource, SimpleStats

_NUMBERS: Final = (
    "_FILE_SIZE",
    "_ROW_COUNT",
    "_LEVEL",
    "_SCHEMA_ID",
    "_MIN_SEQUENCE_NUMBER",
    "_MAX_SEQUENCE_NUMBER",
    "_DELETE_ROW_COUNT",
    "_FIRST_ROW_ID",
)
_FILE_SOURCES: Final = {None: None, 0: FileSource.APPEND, 1: FileSource.COMPACT}


def nullable(avro_type: object) -> list[object]:
    """Return the union that Java writes for a nullable type: null is branch 0."""
    return ["null", avro_type]


def plain_field(name: str, avro_type: object) -> dict[str, object]:
    """Return a field that is never null."""
    return {"name": name, "type": avro_type}


def nullable_field(name: str, avro_type: object) -> dict[str, object]:
    """Return a field that may be null, and is read as null if a file lacks it."""
    return {"name": name, "type": nullable(avro_type), "default": None}


def array_of(avro_type: object) -> dict[str, object]:
    """Return the type of a list."""
    return {"type": "array", "items": avro_type}


def stats_schema(name: str) -> dict[str, object]:
    """Return the record schema of ``SimpleStats`` with this record name."""
    fields = [
        plain_field("_MIN_VALUES", "bytes"),
        plain_field("_MAX_VALUES", "bytes"),
        nullable_field("_NULL_COUNTS", array_of(nullable("long"))),
    ]
    return {"type": "record", "name": name, "fields": fields}


def data_file_schema(name: str) -> dict[str, object]:
    """Return the record schema of ``DataFileMeta`` with this record name."""
    fields = [
        plain_field("_FILE_NAME", "string"),
        plain_field("_FILE_SIZE", "long"),
        plain_field("_ROW_COUNT", "long"),
        plain_field("_MIN_KEY", "bytes"),
        plain_field("_MAX_KEY", "bytes"),
        plain_field("_KEY_STATS", stats_schema(f"{name}__KEY_STATS")),
        plain_field("_VALUE_STATS", stats_schema(f"{name}__VALUE_STATS")),
        plain_field("_MIN_SEQUENCE_NUMBER", "long"),
        plain_field("_MAX_SEQUENCE_NUMBER", "long"),
        plain_field("_SCHEMA_ID", "long"),
        plain_field("_LEVEL", "int"),
        plain_field("_EXTRA_FILES", array_of("string")),
        nullable_field("_CREATION_TIME", {"type": "long", "logicalType": "timestamp-millis"}),
        nullable_field("_DELETE_ROW_COUNT", "long"),
        nullable_field("_EMBEDDED_FILE_INDEX", "bytes"),
        nullable_field("_FILE_SOURCE", "int"),
        nullable_field("_VALUE_STATS_COLS", array_of("string")),
        nullable_field("_EXTERNAL_PATH", "string"),
        nullable_field("_FIRST_ROW_ID", "long"),
        nullable_field("_WRITE_COLS", array_of("string")),
    ]
    return {"type": "record", "name": name, "fields": fields}


def stats_record(stats: SimpleStats) -> dict[str, object]:
    """Statistics as an Avro record."""
    return {
        "_MIN_VALUES": stats.min_values,
        "_MAX_VALUES": stats.max_values,
        "_NULL_COUNTS": list(stats.null_counts),
    }


def data_file_record(file: DataFileMeta) -> dict[str, object]:
    """Return a data file as an Avro record."""
    return {
        "_FILE_NAME": file.file_name,
        "_FILE_SIZE": file.file_size,
        "_ROW_COUNT": file.row_count,
        "_MIN_KEY": file.min_key,
        "_MAX_KEY": file.max_key,
        "_KEY_STATS": stats_record(file.key_stats),
        "_VALUE_STATS": stats_record(file.value_stats),
        "_MIN_SEQUENCE_NUMBER": file.min_sequence_number,
        "_MAX_SEQUENCE_NUMBER": file.max_sequence_number,
        "_SCHEMA_ID": file.schema_id,
        "_LEVEL": file.level,
        "_EXTRA_FILES": list(file.extra_files),
        "_CREATION_TIME": file.creation_time,
        "_DELETE_ROW_COUNT": file.delete_row_count,
        "_EMBEDDED_FILE_INDEX": file.embedded_file_index,
        "_FILE_SOURCE": file.file_source,
        "_VALUE_STATS_COLS": _optional_list(file.value_stats_cols),
        "_EXTERNAL_PATH": file.external_path,
        "_FIRST_ROW_ID": file.first_row_id,
        "_WRITE_COLS": _optional_list(file.write_cols),
    }


def stats_of(record: Mapping[str, Any] | None, *, path: str) -> SimpleStats:
    """Return the statistics in an Avro record.

    Raises:
        BadEncoding: the record is null.
    """
    if record is None:
        message = "expected statistics, found null"
        raise BadEncoding(path, message)
    return SimpleStats(record["_MIN_VALUES"], record["_MAX_VALUES"], tuple(record.get("_NULL_COUNTS") or ()))


def data_file_of(record: Mapping[str, Any] | None, *, path: str) -> DataFileMeta:
    """Return the data file in an Avro record.

    Raises:
        BadEncoding: the record is null, or a value is invalid.
    """
    if record is None:
        message = "expected a data file, found null"
        raise BadEncoding(path, message)
    optional = record.get
    source = optional("_FILE_SOURCE")
    name = checked_file_name(record["_FILE_NAME"], path=path)
    extra_files = tuple(optional("_EXTRA_FILES") or ())
    for extra in extra_files:
        checked_file_name(extra, path=path)
    _check_numbers(record, name, path)
    if source not in _FILE_SOURCES:
        message = f"data file '{name}': expected numbers of 0 or more and a file source of 0 or 1, found {source}"
        raise BadEncoding(path, message)
    return DataFileMeta(
        file_name=name,
        file_size=record["_FILE_SIZE"],
        row_count=record["_ROW_COUNT"],
        min_key=record["_MIN_KEY"],
        max_key=record["_MAX_KEY"],
        key_stats=stats_of(record["_KEY_STATS"], path=path),
        value_stats=stats_of(record["_VALUE_STATS"], path=path),
        min_sequence_number=record["_MIN_SEQUENCE_NUMBER"],
        max_sequence_number=record["_MAX_SEQUENCE_NUMBER"],
        schema_id=record["_SCHEMA_ID"],
        level=record["_LEVEL"],
        extra_files=extra_files,
        creation_time=optional("_CREATION_TIME"),
        delete_row_count=optional("_DELETE_ROW_COUNT"),
        embedded_file_index=optional("_EMBEDDED_FILE_INDEX"),
        file_source=_FILE_SOURCES[source],
        value_stats_cols=_optional_tuple(optional("_VALUE_STATS_COLS")),
        external_path=optional("_EXTERNAL_PATH"),
        first_row_id=optional("_FIRST_ROW_ID"),
        write_cols=_optional_tuple(optional("_WRITE_COLS")),
    )


def _check_numbers(record: Mapping[str, Any], name: str, path: str) -> None:
    rows, deleted, first = record["_ROW_COUNT"], record.get("_DELETE_ROW_COUNT"), record.get("_FIRST_ROW_ID")
    low, high = record["_MIN_SEQUENCE_NUMBER"], record["_MAX_SEQUENCE_NUMBER"]
    # -1 means that the rows have no numbers yet. In a file without rows, the last number is below the first.
    if (
        record["_FILE_SIZE"] >= 0
        and rows >= 0
        and 0 <= record["_LEVEL"] <= MAX_INT
        and record["_SCHEMA_ID"] >= 0
        and -1 <= low <= high + 1
        and -1 <= high <= MAX_SEQUENCE_NUMBER
        and (deleted is None or 0 <= deleted <= rows)
        and (first is None or first >= 0)
    ):
        return
    shown = {key: record.get(key) for key in _NUMBERS}
    message = f"data file '{name}': expected numbers of 0 or more that fit together, found {shown}"
    raise BadEncoding(path, message)


def checked_file_name(name: str, *, path: str) -> str:
    """Return the name if it is a plain file name.

    Raises:
        BadEncoding: the name contains a directory, or is not a file name.
    """
    if not is_safe_file_name(name):
        message = f"expected a file name without directory, found {name[:100]!r}"
        raise BadEncoding(path, message)
    return name


def _optional_list(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)


def _optional_tuple(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)
