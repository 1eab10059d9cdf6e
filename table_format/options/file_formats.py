"""What options have to know of a file format: its name, its compressions, and the types it cannot hold.

``formats/registry`` has the code of each. A new format takes a line here and one there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_format.registry import Registry

_NANOSECONDS: Final = 9


@dataclass(frozen=True, slots=True)
class FileFormatFacts:
    """One file format. Precisions are digits of a second, the most that the format can hold."""

    name: str
    """What ``file.format`` calls it, and the extension of its files."""
    title: str
    """What people call it."""
    codecs: tuple[str, ...]
    """The values of ``file.compression`` that files can be written with."""
    time_precision: int = _NANOSECONDS
    timestamp_precision: int = _NANOSECONDS


AVRO: Final = FileFormatFacts(
    "avro", "Avro", ("zstd", "snappy", "deflate", "none"), time_precision=3, timestamp_precision=6
)
"""Also the format of rows whose buckets are postponed (``lsm/postpone``)."""

FILE_FORMATS: Final = Registry(
    "file format",
    (
        FileFormatFacts("parquet", "Parquet", ("zstd", "snappy", "gzip", "lz4", "none")),
        FileFormatFacts("orc", "ORC", ("zstd", "snappy", "zlib", "lz4", "none")),
        AVRO,
    ),
    name_of=lambda facts: facts.name,
)
"""What this version writes."""
