"""What changelog files look like and which changes go into them (format chapter 07, section 6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from table_format.options.declare import Option
from table_format.options.file_formats import FILE_FORMATS
from table_format.options.files import CODEC_ALIASES, FileOptions
from table_format.options.values import boolean, names, optional, stats_mode, text, word

PREFIX = Option("changelog-file.prefix", text, "changelog-", "What the names of changelog files begin with.")
FORMAT = Option(
    "changelog-file.format",
    optional(word()),
    None,
    "Format of changelog files; that of data files of the same level when absent.",
    honoured=FILE_FORMATS,
)
COMPRESSION = Option(
    "changelog-file.compression",
    optional(word(**CODEC_ALIASES)),
    None,
    "Compression of changelog files; that of data files of the same level when absent.",
)
STATS_MODE = Option(
    "changelog-file.stats-mode",
    optional(stats_mode),
    None,
    "Statistics of changelog files; metadata.stats-mode when absent.",
)
ROW_DEDUPLICATE = Option(
    "changelog-producer.row-deduplicate",
    boolean,
    False,
    "Leave out an update that changes no column; changelog-producer is full-compaction or lookup.",
)
IGNORED_FIELDS = Option(
    "changelog-producer.row-deduplicate-ignore-fields",
    optional(names),
    None,
    "Columns whose change does not count for changelog-producer.row-deduplicate.",
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
