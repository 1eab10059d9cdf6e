"""What data files look like: format, compression, sizes, statistics, directory names (format chapters 01, 04, 06)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_format.limits import MIB
from table_format.options.declare import WRITES, AnyOption, Option, OptionPattern, unsupported
from table_format.options.values import (
    MAX_LONG,
    boolean,
    integer,
    levels,
    optional,
    size,
    stats_mode,
    text,
    word,
)

PRIMARY_KEY_TARGET_FILE_SIZE = 128 * MIB
APPEND_TARGET_FILE_SIZE = 256 * MIB

FORMAT = Option(
    "file.format",
    word(),
    "parquet",
    "Format of new data files; only Parquet is written by this version.",
    honoured=("parquet",),
    blocks=WRITES,
)
COMPRESSION = Option(
    "file.compression",
    word(uncompressed="none", null="none"),
    "zstd",
    "Compression of new data files.",
    honoured=("zstd", "snappy", "gzip", "lz4", "none"),
    blocks=WRITES,
)
ZSTD_LEVEL = Option("file.compression.zstd-level", integer(1, 22), 1, "Effort of zstd; higher is smaller and slower.")
TARGET_FILE_SIZE = Option(
    "target-file-size",
    optional(size(1)),
    None,
    "A file that reaches this size is closed and the next begun; 128 mb on primary key tables, 256 mb on append "
    "tables when absent.",
)
BLOCK_SIZE = Option("file.block-size", optional(size(1)), None, "Size of a Parquet row group.")
STATS_MODE = Option(
    "metadata.stats-mode",
    stats_mode,
    "truncate(16)",
    "Which minimum, maximum and null count of each column goes to the manifests.",
)
COLUMN_STATS_MODE = OptionPattern("fields.<column>.stats-mode", stats_mode, "metadata.stats-mode for one column.")
PARTITION_DEFAULT_NAME = Option(
    "partition.default-name",
    text,
    "__DEFAULT_PARTITION__",
    "Directory name of a partition value that is null or blank.",
)
PARTITION_LEGACY_NAME = Option(
    "partition.legacy-name",
    boolean,
    True,
    "Name partition directories by the internal value (a date is a number of days) and not by its SQL text.",
)
PATH_DIRECTORY = Option(
    "data-file.path-directory",
    optional(text),
    None,
    "Sub-directory of the table with its partitions and buckets; readers of version 0.9 do not know it.",
    immutable=True,
)
PARQUET_DICTIONARY = Option(
    "parquet.enable.dictionary",
    optional(boolean),
    None,
    "Dictionary encoding of Parquet columns; decided for each column from its first rows when absent.",
)


@dataclass(frozen=True, slots=True)
class FileOptions:
    format: str = FORMAT.field()
    compression: str = COMPRESSION.field()
    zstd_level: int = ZSTD_LEVEL.field()
    target_file_size: int | None = TARGET_FILE_SIZE.field()
    block_size: int | None = BLOCK_SIZE.field()
    stats_mode: str = STATS_MODE.field()
    column_stats_modes: Mapping[str, str] = COLUMN_STATS_MODE.field()
    partition_default_name: str = PARTITION_DEFAULT_NAME.field()
    partition_legacy_name: bool = PARTITION_LEGACY_NAME.field()
    path_directory: str | None = PATH_DIRECTORY.field()
    parquet_dictionary: bool | None = PARQUET_DICTIONARY.field()

    def stats_mode_of(self, column: str) -> str:
        """The statistics mode of one column.

        >>> FileOptions(column_stats_modes={"a": "none"}).stats_mode_of("a")
        'none'
        """
        return self.column_stats_modes.get(column, self.stats_mode)

    def target_file_size_of(self, *, has_primary_key: bool) -> int:
        """The target size in bytes for a table with or without primary key."""
        if self.target_file_size is not None:
            return self.target_file_size
        return PRIMARY_KEY_TARGET_FILE_SIZE if has_primary_key else APPEND_TARGET_FILE_SIZE

    @property
    def format_options(self) -> Mapping[str, str]:
        """The settings of the file format that were given, by their full key."""
        if self.parquet_dictionary is None:
            return {}
        return {PARQUET_DICTIONARY.key: str(self.parquet_dictionary).lower()}


REFUSED: tuple[AnyOption, ...] = (
    unsupported("file.format.per.level", levels, (), "File format by level.", *WRITES),
    unsupported("file.compression.per.level", levels, (), "Compression by level."),
    unsupported("file.suffix.include.compression", boolean, False, "Compression in the file name."),
    unsupported("data-file.prefix", text, "data-", "Prefix of data file names."),
    unsupported("data-file.thin-mode", boolean, False, "Data files without key columns.", *WRITES),
    unsupported("data-file.external-paths", optional(text), None, "Data outside the table.", *WRITES),
    unsupported("data-file.external-paths.strategy", text, "none", "Which external path is used.", *WRITES),
    unsupported("data-file.external-paths.specific-fs", optional(text), None, "File system of external paths."),
    unsupported("data-file.external-paths.weights", optional(text), None, "Weights of external paths."),
    unsupported("target-file-row-num", integer(1, MAX_LONG), MAX_LONG, "Rows at which a file is closed."),
    unsupported("metadata.stats-mode.per.level", levels, (), "Statistics mode by level."),
    unsupported(
        "metadata.stats-dense-store",
        boolean,
        False,
        "Store statistics of some columns only. Always full width here: readers of version 0.9 lose rows otherwise.",
    ),
    unsupported("metadata.stats-keep-first-n-columns", integer(-1), -1, "Statistics of the first columns only."),
    OptionPattern("parquet.<setting>", text, "A setting of the Java Parquet writer.", supported=False),
    OptionPattern("orc.<setting>", text, "A setting of the Java ORC writer.", supported=False),
    OptionPattern("avro.<setting>", text, "A setting of the Java Avro writer.", supported=False),
    OptionPattern("csv.<setting>", text, "A setting of CSV files.", supported=False),
    OptionPattern("json.<setting>", text, "A setting of JSON files.", supported=False),
    OptionPattern("text.<setting>", text, "A setting of text files.", supported=False),
)
