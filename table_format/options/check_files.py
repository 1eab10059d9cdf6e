"""Whether new data files can be what the options ask for: known formats, their compressions, the types they hold.

Format chapter 06, section 3; Java ``FileFormat.validateDataFields``.
"""

from __future__ import annotations

from collections.abc import Iterable

from table_format.errors import UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.model.types import (
    AnyTimestampType,
    TimeType,
    types_in,
)
from table_format.options.file_formats import FILE_FORMATS, FileFormatFacts
from table_format.options.files import COMPRESSION, COMPRESSION_PER_LEVEL, FORMAT, FORMAT_PER_LEVEL, FileOptions

FILE_KEYS = frozenset(
    {FORMAT.key, FORMAT_PER_LEVEL.key, COMPRESSION.key, COMPRESSION_PER_LEVEL.key, "orc.compress", "avro.codec"}
)
"""Options that decide what new files are."""


def check_files(schema: TableSchema, files: FileOptions) -> None:
    """Refuse formats and compressions that are not written by this version, and types that a format cannot hold.

    Raises:
        UnsupportedFeature: names the option and its value, or the column and its type.
    """
    levels = {level for level, _ in (*files.format_per_level, *files.compression_per_level)}
    for options in (files, *(files.at_level(level) for level in sorted(levels))):
        facts = FILE_FORMATS.get(options.format)
        if facts is None:
            raise _unsupported(FORMAT_PER_LEVEL.key, FORMAT_PER_LEVEL.parser.show(files.format_per_level), FILE_FORMATS)
        codec = options.codec_of(facts.name)
        if codec not in facts.codecs:
            key = f"compression of {facts.name} files"
            raise _unsupported(key, codec, facts.codecs)
        check_columns(schema, facts)


def check_columns(schema: TableSchema, facts: FileFormatFacts) -> None:
    """Refuse columns that files of a format cannot hold.

    Raises:
        UnsupportedFeature: names the column and its type.
    """
    for field in schema.fields:
        for data_type in types_in(field.type):
            if not isinstance(data_type, TimeType | AnyTimestampType):
                continue
            limit = facts.time_precision if isinstance(data_type, TimeType) else facts.timestamp_precision
            if data_type.precision > limit:
                feature = f"{data_type.with_nullable(True)} in {facts.title} files"
                message = f"column '{field.name}': {feature} is not part of the format; precision {limit} is the finest"
                raise UnsupportedFeature(feature, message)


def _unsupported(key: str, value: str, supported: Iterable[str]) -> UnsupportedFeature:
    message = f"{key} = '{value}' is not supported by this version; it writes {', '.join(supported)}"
    return UnsupportedFeature(f"{key}={value}", message)
