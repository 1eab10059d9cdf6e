"""Whether new data files can be what the options ask for: known formats, their compressions, the types they hold.

Format chapter 06, section 3; Java ``FileFormat.validateDataFields``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from table_format.errors import UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.model.types import (
    ArrayType,
    DataType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)
from table_format.options.files import CODECS, COMPRESSION, COMPRESSION_PER_LEVEL, FORMAT, FORMAT_PER_LEVEL, FileOptions

FILE_KEYS = frozenset(
    {FORMAT.key, FORMAT_PER_LEVEL.key, COMPRESSION.key, COMPRESSION_PER_LEVEL.key, "orc.compress", "avro.codec"}
)
"""Options that decide what new files are."""

_MAX_AVRO_TIME_PRECISION = 3
_MAX_AVRO_TIMESTAMP_PRECISION = 6


def check_files(schema: TableSchema, files: FileOptions) -> None:
    """Refuse formats and compressions that are not written by this version, and types that a format cannot hold.

    Raises:
        UnsupportedFeature: names the option and its value, or the column and its type.
    """
    levels = {level for level, _ in (*files.format_per_level, *files.compression_per_level)}
    for options in (files, *(files.at_level(level) for level in sorted(levels))):
        if options.format not in CODECS:
            raise _unsupported(FORMAT_PER_LEVEL.key, FORMAT_PER_LEVEL.parser.show(files.format_per_level), CODECS)
        if options.codec_of(options.format) not in CODECS[options.format]:
            key = f"compression of {options.format} files"
            raise _unsupported(key, options.codec_of(options.format), CODECS[options.format])
        if options.format == "avro":
            check_avro(schema)


def check_avro(schema: TableSchema) -> None:
    """Refuse columns that Avro files cannot hold.

    Raises:
        UnsupportedFeature: names the column and its type.
    """
    for field in schema.fields:
        for data_type in _types_in(field.type):
            if not isinstance(data_type, TimeType | TimestampType | LocalZonedTimestampType):
                continue
            limit = _MAX_AVRO_TIME_PRECISION if isinstance(data_type, TimeType) else _MAX_AVRO_TIMESTAMP_PRECISION
            if data_type.precision > limit:
                feature = f"{data_type.with_nullable(True)} in Avro files"
                message = f"column '{field.name}': {feature} is not part of the format; precision {limit} is the finest"
                raise UnsupportedFeature(feature, message)


def _types_in(data_type: DataType) -> Iterator[DataType]:
    yield data_type
    match data_type:
        case ArrayType(element=element) | MultisetType(element=element):
            yield from _types_in(element)
        case MapType(key=key, value=value):
            yield from _types_in(key)
            yield from _types_in(value)
        case RowType(fields=fields):
            for field in fields:
                yield from _types_in(field.type)


def _unsupported(key: str, value: str, supported: Iterable[str]) -> UnsupportedFeature:
    message = f"{key} = '{value}' is not supported by this version; it writes {', '.join(supported)}"
    return UnsupportedFeature(f"{key}={value}", message)
