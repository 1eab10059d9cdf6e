"""The properties of data files: format, compression, sizes, statistics, directory names (format chapters 01, 04,
06).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from table_format.limits import KIB, MAX_INT, MIB
from table_format.options.declare import WRITES, AnyOption, Option, OptionPattern, unsupported
from table_format.options.file_formats import FILE_FORMATS
from table_format.options.values import (
    MAX_LONG,
    boolean,
    choice,
    integer,
    levels,
    name_prefix,
    optional,
    ratio,
    size,
    size_in_bytes,
    stats_levels,
    stats_mode,
    text,
    uris,
    word,
)

CODEC_ALIASES = {"uncompressed": "none", "null": "none", "zstandard": "zstd"}

PRIMARY_KEY_TARGET_FILE_SIZE = 128 * MIB
APPEND_TARGET_FILE_SIZE = 256 * MIB

FORMAT = Option(
    "file.format",
    word(),
    "parquet",
    "File format of new data files.",
    honoured=FILE_FORMATS,
    blocks=WRITES,
)
COMPRESSION = Option(
    "file.compression",
    word(**CODEC_ALIASES),
    "zstd",
    "Compression of new data files: zstd, snappy and none in every format; gzip in Parquet; zlib in ORC; lz4 in "
    "Parquet and ORC; deflate in Avro.",
    honoured=("zstd", "snappy", "gzip", "zlib", "lz4", "deflate", "none"),
    blocks=WRITES,
)
FORMAT_PER_LEVEL = Option(
    "file.format.per.level",
    levels,
    (),
    "File format of new data files per level of the LSM tree, such as '0:avro,5:parquet'. Other levels use "
    "'file.format'.",
)
COMPRESSION_PER_LEVEL = Option(
    "file.compression.per.level",
    levels,
    (),
    "Compression of new data files per level of the LSM tree. Other levels use 'file.compression'.",
)
THIN_MODE = Option(
    "data-file.thin-mode",
    boolean,
    False,
    "Omit the separate key columns from data files of primary-key tables, because the values also contain them. "
    "Readers of version 0.9 cannot read such files.",
)
ZSTD_LEVEL = Option(
    "file.compression.zstd-level",
    integer(1, 22),
    1,
    "Compression level of zstd. Higher levels give smaller files and are slower. ORC has two levels: up to 2, and from "
    "3.",
)
TARGET_FILE_SIZE = Option(
    "target-file-size",
    optional(size(1)),
    None,
    "Size at which a data file is closed and the next one is started. By default 128 mb on primary-key tables and 256 "
    "mb on append tables.",
)
BLOCK_SIZE = Option("file.block-size", optional(size(1)), None, "Size of a Parquet row group or ORC stripe.")
STATS_MODE = Option(
    "metadata.stats-mode",
    stats_mode,
    "truncate(16)",
    "Which statistics (minimum, maximum, null count) of each column are stored in manifests.",
)
COLUMN_STATS_MODE = OptionPattern("fields.<column>.stats-mode", stats_mode, "The 'metadata.stats-mode' of one column.")
STATS_MODE_PER_LEVEL = Option(
    "metadata.stats-mode.per.level",
    stats_levels,
    (),
    "The statistics mode of new data files per level of the LSM tree. Other levels use 'metadata.stats-mode'.",
)
STATS_KEEP_FIRST_COLUMNS = Option(
    "metadata.stats-keep-first-n-columns",
    integer(-1),
    -1,
    "Number of leading columns with statistics. Other columns have mode none, unless they have their own mode. -1 "
    "means all columns.",
)
STATS_DENSE_STORE = Option(
    "metadata.stats-dense-store",
    boolean,
    False,
    "Omit columns without statistics from manifests, and store the names of the others. Readers of version 0.9 lose "
    "rows of such files, so the default differs from Java.",
)
PARTITION_DEFAULT_NAME = Option(
    "partition.default-name",
    text,
    "__DEFAULT_PARTITION__",
    "Directory name for a partition value that is null or blank.",
)
PARTITION_LEGACY_NAME = Option(
    "partition.legacy-name",
    boolean,
    True,
    "Name partition directories after the internal value (a date is a number of days) instead of its SQL text.",
)
PARTITION_NAME_OPTIONS: tuple[Option[Any], ...] = (PARTITION_DEFAULT_NAME, PARTITION_LEGACY_NAME)
"""Options that decide the names of directories of partitions."""

_CODEC_EXTENSIONS: Final = {"none": "", "gzip": "gz", "bzip2": "bz2", "zstd": "zst"}
"""Extensions of codecs that differ from their names (Java ``HadoopCompressionType``)."""

PREFIX = Option("data-file.prefix", name_prefix, "data-", "Prefix of the names of data files.")
COMPRESSION_IN_NAME = Option(
    "file.suffix.include.compression",
    boolean,
    False,
    "Names of data and changelog files end with the value of 'file.compression' before the format, such as "
    "'.snappy.parquet'; for zstd, it is 'zst'.",
)
PATH_DIRECTORY = Option(
    "data-file.path-directory",
    optional(replace(text, stored=lambda value: value.strip().strip("/"))),
    None,
    "Subdirectory of the table that contains its partitions and buckets. Readers of version 0.9 do not support it.",
    immutable=True,
)
EXTERNAL_PATHS = Option(
    "data-file.external-paths",
    optional(uris),
    None,
    "Directories outside the table for new data files; existing files are not moved. Each directory must belong to "
    "this table alone, because orphan removal searches it. Readers of version 0.9 do not support it.",
)
EXTERNAL_PATHS_STRATEGY = Option(
    "data-file.external-paths.strategy",
    choice("none", "round-robin", "specific-fs", "weighted", "entropy-inject"),
    "none",
    "How the external path of a new data file is chosen: 'round-robin' uses all paths in turn, 'specific-fs' uses "
    "those of one scheme. With 'none', data files are stored in the table.",
    honoured=("none", "round-robin", "specific-fs"),
    blocks=WRITES,
)
EXTERNAL_PATHS_SPECIFIC_FS = Option(
    "data-file.external-paths.specific-fs",
    optional(word()),
    None,
    "Scheme of the external paths to use, such as 'file'.",
)
EXTERNAL_KEYS = frozenset({EXTERNAL_PATHS.key, EXTERNAL_PATHS_STRATEGY.key, EXTERNAL_PATHS_SPECIFIC_FS.key})
"""Options that decide where outside the table new data files go."""

PARQUET_DICTIONARY = Option(
    "parquet.enable.dictionary",
    optional(boolean),
    None,
    "Dictionary encoding of Parquet columns. By default, it is decided for each column from its first rows.",
)
ORC_STRIPE_SIZE = Option(
    "orc.stripe.size",
    size_in_bytes(1),
    64 * MIB,
    "Size of an ORC stripe before compression. 'file.block-size' takes precedence.",
)
ORC_COMPRESSION_BLOCK_SIZE = Option(
    "orc.compress.size",
    size_in_bytes(KIB),
    256 * KIB,
    "Size of a compression chunk in ORC files: below 8 mb, and rounded up to the next 64 kb.",
    honoured=range(KIB, 8 * MIB - 64 * KIB + 1),
    blocks=WRITES,
)
ORC_ROW_INDEX_STRIDE = Option(
    "orc.row.index.stride",
    integer(0),
    10_000,
    "Number of rows between two entries of an ORC index, at least 1000. 0 (no index) is not supported.",
    honoured=range(1000, MAX_INT + 1),
    blocks=WRITES,
)
ORC_DICTIONARY_KEY_THRESHOLD = Option(
    "orc.dictionary.key.threshold",
    ratio(0, 1),
    0.8,
    "Share of distinct strings up to which an ORC column uses a dictionary.",
)
ORC_COMPRESSION = Option(
    "orc.compress",
    optional(word(**CODEC_ALIASES)),
    None,
    "Compression of new ORC files. Takes precedence over 'file.compression'.",
)
AVRO_COMPRESSION = Option(
    "avro.codec",
    optional(word(**CODEC_ALIASES)),
    None,
    "Compression of new Avro files. Takes precedence over 'file.compression'.",
)


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How data files are written: format, compression, sizes in bytes, names."""

    format: str = FORMAT.field()
    prefix: str = PREFIX.field()
    compression_in_name: bool = COMPRESSION_IN_NAME.field()
    compression: str = COMPRESSION.field()
    zstd_level: int = ZSTD_LEVEL.field()
    target_file_size: int | None = TARGET_FILE_SIZE.field()
    block_size: int | None = BLOCK_SIZE.field()
    stats_mode: str = STATS_MODE.field()
    column_stats_modes: Mapping[str, str] = COLUMN_STATS_MODE.field()
    stats_mode_per_level: tuple[tuple[int, str], ...] = STATS_MODE_PER_LEVEL.field()
    stats_keep_first_columns: int = STATS_KEEP_FIRST_COLUMNS.field()
    stats_dense_store: bool = STATS_DENSE_STORE.field()
    partition_default_name: str = PARTITION_DEFAULT_NAME.field()
    partition_legacy_name: bool = PARTITION_LEGACY_NAME.field()
    path_directory: str | None = PATH_DIRECTORY.field()
    external_paths: tuple[str, ...] | None = EXTERNAL_PATHS.field()
    external_paths_strategy: str = EXTERNAL_PATHS_STRATEGY.field()
    external_paths_specific_fs: str | None = EXTERNAL_PATHS_SPECIFIC_FS.field()
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
        """Return these options for new files of one level of an LSM tree.

        >>> options = FileOptions(format_per_level=((0, "avro"),), compression_per_level=((5, "ZSTD"),))
        >>> [(o.format, o.compression) for o in (options.at_level(0), options.at_level(5))]
        [('avro', 'zstd'), ('parquet', 'zstd')]
        """
        file_format = dict(self.format_per_level).get(level, self.format)
        compression = dict(self.compression_per_level).get(level, self.compression)
        mode = dict(self.stats_mode_per_level).get(level, self.stats_mode)
        return replace(self, format=file_format.lower(), compression=COMPRESSION.parser(compression), stats_mode=mode)

    def codec_of(self, file_format: str) -> str:
        """Return the compression of new files of one format.

        >>> FileOptions(avro_compression="deflate").codec_of("avro"), FileOptions().codec_of("orc")
        ('deflate', 'zstd')
        """
        return self.own_codec_of(file_format) or self.compression

    def extension_of(self, file_format: str) -> str:
        """Return what the name of a file of one format ends with (Java ``DataFilePathFactory.makeExtension``).

        >>> FileOptions(compression_in_name=True).extension_of("parquet"), FileOptions().extension_of("orc")
        ('zst.parquet', 'orc')
        """
        codec = _CODEC_EXTENSIONS.get(self.compression.lower(), self.compression)
        return f"{codec}.{file_format}" if self.compression_in_name and codec else file_format

    def own_codec_of(self, file_format: str) -> str | None:
        """Return the compression that an option for one format sets; ``None`` if there is none."""
        return {"orc": self.orc_compression, "avro": self.avro_compression}.get(file_format)

    @property
    def external_paths_in_use(self) -> tuple[str, ...]:
        """The external paths that new data files go to; none when they go to the table.

        >>> paths = ("file:/a", "s3://b")
        >>> FileOptions(external_paths=paths).external_paths_in_use
        ()
        >>> given = {"external_paths_strategy": "specific-fs", "external_paths_specific_fs": "file"}
        >>> FileOptions(external_paths=paths, **given).external_paths_in_use
        ('file:/a',)
        """
        match self.external_paths_strategy:
            case "none":
                return ()
            case "specific-fs":
                scheme = f"{self.external_paths_specific_fs}:"
                return tuple(uri for uri in self.external_paths or () if uri.lower().startswith(scheme))
        return self.external_paths or ()

    def stats_mode_of(self, column: str) -> str:
        """The statistics mode of one column.

        >>> FileOptions(column_stats_modes={"a": "none"}).stats_mode_of("a")
        'none'
        """
        return self.column_stats_modes.get(column, self.stats_mode)

    def without_statistics(self, columns: Iterable[str], *, uncounted: Collection[str] = ()) -> frozenset[str]:
        """Those columns, in order, that ``metadata.stats-keep-first-n-columns`` leaves without statistics.

        A column with a mode of its own counts and keeps it; those in ``uncounted`` keep theirs and do not count.

        >>> options = FileOptions(stats_keep_first_columns=1, column_stats_modes={"c": "full"})
        >>> sorted(options.without_statistics("abcd"))
        ['b', 'd']
        """
        if self.stats_keep_first_columns < 0:
            return frozenset()
        counted = (c for c in columns if c in self.column_stats_modes or c not in uncounted)
        late = islice(counted, self.stats_keep_first_columns, None)
        return frozenset(column for column in late if column not in self.column_stats_modes)

    def target_file_size_of(self, *, has_primary_key: bool) -> int:
        """The target size in bytes for a table with or without primary key."""
        if self.target_file_size is not None:
            return self.target_file_size
        return PRIMARY_KEY_TARGET_FILE_SIZE if has_primary_key else APPEND_TARGET_FILE_SIZE


REFUSED: tuple[AnyOption, ...] = (
    unsupported("data-file.external-paths.weights", optional(text), None, "Weights of external paths."),
    unsupported("target-file-row-num", integer(1, MAX_LONG), MAX_LONG, "Number of rows at which a file is closed."),
    OptionPattern("parquet.<setting>", text, "A setting of the Java Parquet writer.", supported=False),
    OptionPattern("orc.<setting>", text, "A setting of the Java ORC writer.", supported=False),
    OptionPattern("avro.<setting>", text, "A setting of the Java Avro writer.", supported=False),
    OptionPattern("csv.<setting>", text, "A setting of CSV files.", supported=False),
    OptionPattern("json.<setting>", text, "A setting of JSON files.", supported=False),
    OptionPattern("text.<setting>", text, "A setting of text files.", supported=False),
)
