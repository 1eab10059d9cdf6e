"""The file formats by name. A file says by its extension what it is; options say only what new files are."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from table_format.errors import UnsupportedFeature
from table_format.formats.avro import AvroFormat
from table_format.formats.orc import OrcFormat
from table_format.formats.parquet import ParquetFormat
from table_format.formats.protocol import FileFormat

_FORMATS: Final[MappingProxyType[str, FileFormat]] = MappingProxyType(
    {f.identifier: f for f in (ParquetFormat(), OrcFormat(), AvroFormat())}
)


def format_of(name: str) -> FileFormat:
    """The format of a file name or identifier.

    >>> format_of("data-7f60b530-0.zstd.parquet").identifier, format_of("parquet").identifier
    ('parquet', 'parquet')

    Raises:
        UnsupportedFeature: this version neither reads nor writes the format.
    """
    identifier = name.rpartition(".")[2].lower()
    found = _FORMATS.get(identifier)
    if found is None:
        feature = f"file format '{identifier}'"
        message = f"{name}: {feature} is not supported by this version; supported: {', '.join(sorted(_FORMATS))}"
        raise UnsupportedFeature(feature, message)
    return found
