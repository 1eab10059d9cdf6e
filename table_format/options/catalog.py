"""Options of a catalog (format chapter 15; Java ``CatalogOptions``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_format.decoded_files import DEFAULT_BYTES
from table_format.options.declare import AnyOption, Option, OptionPattern, unsupported
from table_format.options.values import Parser, boolean, choice, duration, integer, optional, size, text

METASTORE = Option(
    "metastore",
    Parser(
        "'filesystem', 'jdbc', 'hive', 'rest', or the name of a registered catalog", lambda name: text(name).lower()
    ),
    "filesystem",
    "Catalog type: where databases and tables are listed. This version supports 'filesystem', 'jdbc', 'hive' and "
    "'rest'.",
)
WAREHOUSE = Option(
    "warehouse",
    optional(text),
    None,
    "Root directory of all databases. Required, except by a catalog in a Hive metastore, which has a default. With "
    "'metastore' = 'rest', the name of a warehouse on the server.",
)
CATALOG_TYPE = Option("type", choice("paimon"), "paimon", "Must be 'paimon'.")
TABLE_DEFAULT = OptionPattern(
    "table-default.<option>", text, "Default value of a table option, for new tables that do not set it."
)
SHOWS_OPTIONS = Option(
    "catalog-options-table.enabled",
    boolean,
    True,
    "Whether the table 'sys.catalog_options' exists. Secrets in it are masked. The newest Paimon disables it by "
    "default.",
)
LOCAL_CACHE_DIR = Option(
    "local-cache.dir",
    optional(text),
    None,
    "Local directory for data that is kept between runs and can be rebuilt: the key indexes of tables whose keys move "
    "between partitions. By default a directory below the user's cache directory.",
)

MANIFEST_CACHE = Option(
    "cache.manifest.max-memory",
    size(),
    DEFAULT_BYTES,
    "Memory for decoded manifests in this process, shared by all tables that a catalog opens; 0 turns the cache off.",
)
CACHE_ENABLED = Option(
    "cache-enabled",
    boolean,
    True,
    "Whether decoded manifests are cached. 'false' has the same effect as 'cache.manifest.max-memory' = 0.",
)


@dataclass(frozen=True, slots=True)
class CatalogOptions:
    """The kind of a catalog and its warehouse."""

    metastore: str = METASTORE.field()
    warehouse: str | None = WAREHOUSE.field()
    catalog_type: str = CATALOG_TYPE.field()
    table_defaults: Mapping[str, str] = TABLE_DEFAULT.field()
    shows_options: bool = SHOWS_OPTIONS.field()
    local_cache_dir: str | None = LOCAL_CACHE_DIR.field()
    given_manifest_cache: int = MANIFEST_CACHE.field()
    cache_enabled: bool = CACHE_ENABLED.field()

    @property
    def manifest_cache(self) -> int:
        """The bytes of decoded manifests to keep.

        >>> CatalogOptions().manifest_cache >> 20, CatalogOptions(cache_enabled=False).manifest_cache
        (256, 0)
        """
        return self.given_manifest_cache if self.cache_enabled else 0


REFUSED: tuple[AnyOption, ...] = (
    unsupported("uri", optional(text), None, "URI of the metastore."),
    unsupported("table.type", choice("managed", "external"), "managed", "Whether dropping a table keeps its files."),
    unsupported("lock.enabled", boolean, False, "Lock around publishing a snapshot."),
    unsupported("lock.type", optional(text), None, "Type of the lock."),
    unsupported("security.kerberos.login.principal", optional(text), None, "Login by Kerberos, for HDFS."),
    unsupported("security.kerberos.login.keytab", optional(text), None, "Login by Kerberos, for HDFS."),
    unsupported("case-sensitive", boolean, True, "Whether names are case-sensitive."),
    unsupported("allow-upper-case", boolean, True, "Whether names may contain upper-case letters."),
    unsupported("resolving-file-io.enabled", boolean, False, "Choose the store by path."),
    unsupported("local-cache.enabled", boolean, False, "Cache blocks on the local disk."),
    unsupported("lock-check-max-sleep", duration, 8_000, "Maximum wait between attempts to acquire the lock."),
    unsupported("lock-acquire-timeout", duration, 480_000, "Longest wait for a lock."),
    unsupported("client-pool-size", integer(1), 2, "Connections to the metastore."),
    unsupported("cache.expire-after-access", duration, 600_000, "Cache of the Java catalog."),
    unsupported("cache.expire-after-write", duration, 1_800_000, "Cache of the Java catalog."),
    unsupported("cache.manifest.small-file-memory", size(), 128 << 20, "Cache of the Java catalog."),
    unsupported("cache.manifest.small-file-threshold", size(), 1 << 20, "Cache of the Java catalog."),
    unsupported("cache.partition.max-num", integer(), 0, "Cache of the Java catalog."),
    unsupported("cache.snapshot.max-num-per-table", integer(), 20, "Cache of the Java catalog."),
    unsupported("sync-all-properties", boolean, True, "Copy options to a metastore. A file-system catalog has none."),
    unsupported("format-table.enabled", boolean, True, "Format tables of a metastore. A file-system catalog has none."),
    unsupported("file-io.allow-cache", boolean, True, "Cache of the Java file system."),
)
