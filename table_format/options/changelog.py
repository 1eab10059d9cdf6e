"""The format of changelog files, and which changes they hold (format chapter 07, section 6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from table_format.options.declare import Option
from table_format.options.file_formats import FILE_FORMATS
from table_format.options.files import CODEC_ALIASES, FileOptions
from table_format.options.values import boolean, name_prefix, names, optional, stats_mode, word

PREFIX = Option("changelog-file.prefix", name_prefix, "changelog-", "Prefix of the names of changelog files.")
FORMAT = Option(
    "changelog-file.format",
    optional(word()),
    None,
    "File format of changelog files; by default that of data files on the same level.",
    honoured=FILE_FORMATS,
)
COMPRESSION = Option(
    "changelog-file.compression",
    optional(word(**CODEC_ALIASES)),
    None,
    "Compression of changelog files; by default that of data files on the same level.",
)
STATS_MODE = Option(
    "changelog-file.stats-mode",
    optional(stats_mode),
    None,
    "Statistics mode of changelog files; by default 'metadata.stats-mode'.",
)
ROW_DEDUPLICATE = Option(
    "changelog-producer.row-deduplicate",
    boolean,
    False,
    "Omit updates that change no column from the changelog. Requires that 'changelog-producer' is full-compaction or "
    "lookup.",
)
IGNORED_FIELDS = Option(
    "changelog-producer.row-deduplicate-ignore-fields",
    optional(names),
    None,
    "Columns whose changes 'changelog-producer.row-deduplicate' ignores.",
)


@dataclass(frozen=True, slots=True)
class ChangelogOptions:
    """How changelog files are written, and how long changelogs outlive their snapshots."""

    prefix: str = PREFIX.field()
    format: str | None = FORMAT.field()
    compression: str | None = COMPRESSION.field()
    stats_mode: str | None = STATS_MODE.field()
    row_deduplicate: bool = ROW_DEDUPLICATE.field()
    ignored_fields: tuple[str, ...] | None = IGNORED_FIELDS.field()

    def files_like(self, data: FileOptions) -> FileOptions:
        """The options of changelog files, beside data files with these.

        >>> ChangelogOptions(format="avro").files_like(FileOptions(compression="snappy")).format
        'avro'
        """
        return replace(
            data,
            format=self.format or data.format,
            compression=self.compression or data.compression,
            stats_mode=self.stats_mode or data.stats_mode,
        )
