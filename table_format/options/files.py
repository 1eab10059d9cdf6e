"""What data files look like: format, compression, sizes, statistics, directory names (format chapters 01, 04, 06)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from table_format.limits import KIB, MIB
from table_format.options.declare import WRITES, AnyOption, Option, OptionPattern, unsupported
from table_format.options.file_formats import FILE_FORMATS
from table_format.options.values import (
    MAX_LONG,
    boolean,
    integer,
    levels,
    optional,
    ratio,
    size,
    stats_mode,
    text,
    word,
)

CODEC_ALIASES = {"uncompressed": "none", "null": "none", "zstandard": "zstd"}

PRIMARY_KEY_TARGET_FILE_SIZE = 128 * MIB
APPEND_TARGET_FILE_SIZE = 256 * MIB

FORMAT = Option(
    "file.format",
    word(),
    "parquet",
    "Format of new data files.",
    honoured=FILE_FORMATS,
    blocks=WRITES,
)
COMPRESSION = Option(
    "file.compression",
    word(**CODEC_ALIASES),
    "zstd",
    "Compression of new data files: zstd, snappy and none in every format, gzip in Parquet, zlib in ORC, lz4 in both, "
    "deflate in Avro.",
    honoured=("zstd", "snappy", "gzip", "zlib", "lz4", "deflate", "none"),
    blocks=WRITES,
)
FORMAT_PER_LEVEL = Option(
    "file.format.per.level",
    levels,
    (),
    "Format of new data files by level of the LSM tree, such as '0:avro,5:parquet'; file.format for the other levels.",
)
COMPRESSION_PER_LEVEL = Option(
    "file.compression.per.level",
    levels,
    (),
    "Compression of new data files by level of the LSM tree; file.compression for the other levels.",
)
THIN_MODE = Option(
    "data-file.thin-mode",
    boolean,
    False,
    "Data files of primary key tables without key columns, which are among the values anyway; readers of version 0.9 "
    "cannot read such files.",
)
ZSTD_LEVEL = Option(
    "file.compression.zstd-level",
    integer(1, 22),
    1,
    "Effort of zstd; higher is smaller and slower. ORC knows two efforts: up to 2, and from 3.",
)
TARGET_FILE_SIZE = Option(
    "target-file-size",
    optional(size(1)),
    None,
    "A file that reaches this size is closed and the next begun; 128 mb on primary key tables, 256 mb on append "
    "tables when absent.",
)
BLOCK_SIZE = Option("file.block-size", optional(size(1)), None, "Size of a Parquet row group or ORC stripe.")
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
ORC_STRIPE_SIZE = Option(
    "orc.stripe.size", size(1), 64 * MIB, "Size of an ORC stripe before compression; file.block-size goes before it."
)
ORC_COMPRESSION_BLOCK_SIZE = Option(
    "orc.compress.size", size(KIB), 256 * KIB, "Bytes that are compressed at once in ORC files."
)
ORC_ROW_INDEX_STRIDE = Option("orc.row.index.stride", integer(0), 10_000, "Rows between two entries of an ORC index.")
ORC_DICTIONARY_KEY_THRESHOLD = Option(
    "orc.dictionary.key.threshold",
    ratio(0, 1),
    0.8,
    "Share of distinct texts up to which an ORC column gets a dictionary.",
)
ORC_COMPRESSION = Option(
    "orc.compress", optional(word(**CODEC_ALIASES)), None, "Compression of new ORC files, before file.compression."
)
AVRO_COMPRESSION = Option(
    "avro.codec", optional(word(**CODEC_ALIASES)), None, "Compression of new Avro files, before file.compression."
)


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How data files are written: format, compression, sizes in bytes, names."""

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
    format_per_level: tuple[tuple[int, str], ...] = FORMAT_PER_LEVEL.field()
    compression_per_level: tuple[tuple[int, str], ...] = COMPRESSION_PER_LEVEL.field()
    thin_mode: bool = THIN_MODE.field()
    orc_stripe_size: int = ORC_STRIPE_SIZE.field()
    orc_compression_block_size: int = ORC_COMPRESSION_BLOCK_SIZE.field()
    orc_row_index_stride: int = ORC_ROW_INDEX_STRIDE.field()
    orc_dictionary_key_threshold: float = ORC_DICTIONARY_KEY_THRESHOLD.field()
    orc_compression: str | None = ORC_COMPRESSION.field()
    avro_compression: str | None = AVRO_COMPRESSION.field()

    def at_level(self, level: int) -> FileOptions:
        """These options for new files of one level of an LSM tree.

        >>> options = FileOptions(format_per_level=((0, "avro"),), compression_per_level=((5, "ZSTD"),))
        >>> [(o.format, o.compression) for o in (options.at_level(0), options.at_level(5))]
        [('avro', 'zstd'), ('parquet', 'zstd')]
        """
        file_format = dict(self.format_per_level).get(level, self.format)
        compression = dict(self.compression_per_level).get(level, self.compression)
        return replace(self, format=file_format.lower(), compression=COMPRESSION.parser(compression))

    def codec_of(self, file_format: str) -> str:
        """The compression of new files of one format.

        >>> FileOptions(avro_compression="deflate").codec_of("avro"), FileOptions().codec_of("orc")
        ('deflate', 'zstd')
        """
        own = {"orc": self.orc_compression, "avro": self.avro_compression}.get(file_format)
        return own or self.compression

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
    unsupported("file.suffix.include.compression", boolean, False, "Compression in the file name."),
    unsupported("data-file.prefix", text, "data-", "Prefix of data file names."),
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
