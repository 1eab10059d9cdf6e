"""Options of a catalog (format chapter 15; Java ``CatalogOptions``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from table_format.options.declare import AnyOption, Option, OptionPattern, hint, unsupported
from table_format.options.values import Parser, boolean, choice, duration, integer, optional, size, text

METASTORES_OF_PAIMON: Final = ("filesystem", "jdbc", "hive", "rest")
METASTORE = Option(
    "metastore",
    Parser("'filesystem', or the name of a registered catalog", lambda name: text(name).lower()),
    "filesystem",
    "Where databases and tables are listed; this version has 'filesystem'.",
)
WAREHOUSE = Option("warehouse", optional(text), None, "Root directory of all databases. Required.")
CATALOG_TYPE = Option("type", choice("paimon"), "paimon", "Always 'paimon'.")
TABLE_DEFAULT = OptionPattern("table-default.<option>", text, "Option given to new tables that do not set it.")
SHOWS_OPTIONS = Option(
    "catalog-options-table.enabled",
    boolean,
    True,
    "Whether there is a table 'sys.catalog_options'; secrets in it are masked. Off by default in the newest Paimon.",
)
LOCAL_CACHE_DIR = Option(
    "local-cache.dir",
    optional(text),
    None,
    "Directory on this machine for what is kept between runs and can be made again: the local indexes of keys that may "
    "change their partition. Below the user's cache directory by default.",
)


@dataclass(frozen=True, slots=True)
class CatalogOptions:
    """Which catalog is meant, and where its warehouse is."""

    metastore: str = METASTORE.field()
    warehouse: str | None = WAREHOUSE.field()
    catalog_type: str = CATALOG_TYPE.field()
    table_defaults: Mapping[str, str] = TABLE_DEFAULT.field()
    shows_options: bool = SHOWS_OPTIONS.field()
    local_cache_dir: str | None = LOCAL_CACHE_DIR.field()


REFUSED: tuple[AnyOption, ...] = (
    unsupported("uri", optional(text), None, "Address of the metastore."),
    unsupported("table.type", choice("managed", "external"), "managed", "Whether dropping keeps the files."),
    unsupported("lock.enabled", boolean, False, "Lock around publishing a snapshot."),
    unsupported("lock.type", optional(text), None, "Kind of the lock."),
    unsupported("case-sensitive", boolean, True, "Whether names differ by case."),
    unsupported("allow-upper-case", boolean, True, "Whether names may hold upper case letters."),
    unsupported("resolving-file-io.enabled", boolean, False, "Choose the store by path."),
    unsupported("local-cache.enabled", boolean, False, "Cache blocks on local disk."),
)
HINTS: tuple[AnyOption, ...] = (
    hint("lock-check-max-sleep", duration, 8_000, "Wait between attempts to lock."),
    hint("lock-acquire-timeout", duration, 480_000, "Longest wait for a lock."),
    hint("client-pool-size", integer(1), 2, "Connections to the metastore."),
    hint("cache-enabled", boolean, True, "Cache of the Java catalog."),
    hint("cache.expire-after-access", duration, 600_000, "Cache of the Java catalog."),
    hint("cache.expire-after-write", duration, 1_800_000, "Cache of the Java catalog."),
    hint("cache.manifest.max-memory", optional(size()), None, "Cache of the Java catalog."),
    hint("cache.manifest.small-file-memory", size(), 128 << 20, "Cache of the Java catalog."),
    hint("cache.manifest.small-file-threshold", size(), 1 << 20, "Cache of the Java catalog."),
    hint("cache.partition.max-num", integer(), 0, "Cache of the Java catalog."),
    hint("cache.snapshot.max-num-per-table", integer(), 20, "Cache of the Java catalog."),
    hint("sync-all-properties", boolean, True, "Mirror options in a metastore; a filesystem catalog has none."),
    hint("format-table.enabled", boolean, True, "Format tables of a metastore; a filesystem catalog has none."),
    hint("file-io.allow-cache", boolean, True, "Cache of the Java file system."),
)
