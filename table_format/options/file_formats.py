"""The facts of file formats that options need: name, compressions, and types that the format cannot hold.

``formats/registry`` has the code of each format. A new format needs a line here and one there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_format.model.types import MAX_LENGTH
from table_format.registry import Registry

_NANOSECONDS: Final = 9


@dataclass(frozen=True, slots=True)
class FileFormatFacts:
    """One file format. Precisions are digits of a second, the most that the format can hold."""

    name: str
    """Its name in ``file.format``, and the extension of its files."""
    title: str
    """Its display name."""
    codecs: tuple[str, ...]
    """The values of ``file.compression`` that files can be written with."""
    uncompressed: str = "none"
    """What its engines call "no compression"."""
    knows_none: bool = False
    """Whether its engines also take ``none`` for it."""
    time_precision: int = _NANOSECONDS
    timestamp_precision: int = _NANOSECONDS
    char_length: int = MAX_LENGTH
    """The longest CHAR: formats that pad its values take less."""


PARQUET: Final = FileFormatFacts(
    "parquet", "Parquet", ("zstd", "snappy", "gzip", "lz4", "none"), uncompressed="uncompressed", knows_none=True
)
ORC: Final = FileFormatFacts("orc", "ORC", ("zstd", "snappy", "zlib", "lz4", "none"), char_length=1 << 20)
AVRO: Final = FileFormatFacts(
    "avro", "Avro", ("zstd", "snappy", "deflate", "none"), uncompressed="null", time_precision=3, timestamp_precision=6
)
"""Also the format of rows whose buckets are postponed (``lsm/postpone``)."""

FILE_FORMATS: Final = Registry(
    "file format",
    (PARQUET, ORC, AVRO),
    name_of=lambda facts: facts.name,
)
"""What this version writes."""
