"""Converts index files to Avro fields and back (format chapter 04, section 6; Java ``IndexFileMetaSerializer``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from table_format.codecs.data_file_avro import array_of, checked_file_name, nullable, nullable_field, plain_field
from table_format.errors import BadEncoding
from table_format.model.manifest import DELETION_VECTORS, DeletionVectorRange, IndexFileMeta


def index_file_fields(record_name: str) -> list[dict[str, object]]:
    """Return the fields of ``IndexFileMeta`` inside a record of this name."""
    ranges = {
        "type": "record",
        "name": f"{record_name}__DELETIONS_VECTORS_RANGES",
        "fields": [
            plain_field("f0", "string"),
            plain_field("f1", "int"),
            plain_field("f2", "int"),
            nullable_field("_CARDINALITY", "long"),
        ],
    }
    return [
        plain_field("_INDEX_TYPE", "string"),
        plain_field("_FILE_NAME", "string"),
        plain_field("_FILE_SIZE", "long"),
        plain_field("_ROW_COUNT", "long"),
        nullable_field("_DELETIONS_VECTORS_RANGES", array_of(nullable(ranges))),
        nullable_field("_EXTERNAL_PATH", "string"),
    ]


def index_file_members(file: IndexFileMeta) -> dict[str, object]:
    """Return the members of the record of an index file."""
    ranges = file.deletion_vector_ranges
    return {
        "_INDEX_TYPE": file.index_type,
        "_FILE_NAME": file.file_name,
        "_FILE_SIZE": file.file_size,
        "_ROW_COUNT": file.row_count,
        "_DELETIONS_VECTORS_RANGES": None if ranges is None else [_range_record(r) for r in ranges],
        "_EXTERNAL_PATH": file.external_path,
    }


def index_file_of(record: Mapping[str, Any], *, path: str) -> IndexFileMeta:
    """Return the index file in a record; null items among the ranges are skipped.

    Raises:
        BadEncoding: a value is invalid.
    """
    ranges = record.get("_DELETIONS_VECTORS_RANGES")
    if ranges is not None and record["_INDEX_TYPE"] != DELETION_VECTORS:
        # No other index has ranges. If it were treated as an unknown index type, its deleted rows would reappear.
        raise BadEncoding(path, f"expected an index of type '{DELETION_VECTORS}', found '{record['_INDEX_TYPE']}'")
    if record["_FILE_SIZE"] < 0 or record["_ROW_COUNT"] < 0:
        found = f"{record['_FILE_SIZE']} and {record['_ROW_COUNT']}"
        raise BadEncoding(path, f"index file: expected a size and a number of rows of 0 or more, found {found}")
    return IndexFileMeta(
        index_type=record["_INDEX_TYPE"],
        file_name=checked_file_name(record["_FILE_NAME"], path=path),
        file_size=record["_FILE_SIZE"],
        row_count=record["_ROW_COUNT"],
        deletion_vector_ranges=None
        if ranges is None
        else tuple(_range_of(r, path=path) for r in ranges if r is not None),
        external_path=record.get("_EXTERNAL_PATH"),
    )


def _range_record(range_: DeletionVectorRange) -> dict[str, object]:
    return {
        "f0": range_.data_file,
        "f1": range_.offset,
        "f2": range_.length,
        "_CARDINALITY": range_.cardinality,
    }


def _range_of(record: Mapping[str, Any], *, path: str) -> DeletionVectorRange:
    offset, length = record["f1"], record["f2"]
    if offset < 0 or length < 0:
        message = f"deletion vector of '{record['f0'][:100]}': expected offset and length of 0 or more, found {record}"
        raise BadEncoding(path, message)
    return DeletionVectorRange(checked_file_name(record["f0"], path=path), offset, length, record.get("_CARDINALITY"))
