"""Options of a catalog in a Hive metastore (Java ``HiveCatalogOptions`` and ``CatalogOptions``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_format.options.declare import Option
from table_format.options.values import boolean, choice, duration, duration_within, integer, optional, text

EXTERNAL: Final = "external"
URI = Option(
    "uri",
    optional(text),
    None,
    "Addresses of the metastore, separated by commas: 'thrift://<host>:<port>'. They are tried in order. By default "
    "'hive.metastore.uris' in hive-site.xml.",
)
HIVE_CONF_DIR = Option(
    "hive-conf-dir",
    optional(text),
    None,
    "Local directory of hive-site.xml, of which 'hive.metastore.uris' and 'hive.metastore.warehouse.dir' are read. By "
    "default the environment variable HIVE_CONF_DIR.",
)
HADOOP_CONF_DIR = Option(
    "hadoop-conf-dir", optional(text), None, "Directory of core-site.xml. Hadoop is not used.", honoured=()
)
CLIENT_CLASS = Option(
    "metastore.client.class",
    text,
    "org.apache.hadoop.hive.metastore.HiveMetaStoreClient",
    "Java class of another client of the metastore.",
    honoured=("org.apache.hadoop.hive.metastore.HiveMetaStoreClient",),
)
CLIENT_POOL_SIZE = Option("client-pool-size", integer(1), 2, "Connections to the metastore that are kept open.")
LOCATION_IN_PROPERTIES = Option(
    "location-in-properties",
    boolean,
    False,
    "Whether the metastore keeps locations as the property 'paimon_location', so that it does not access the store.",
)
SYNC_ALL_PROPERTIES = Option(
    "sync-all-properties",
    boolean,
    True,
    "Whether all options and keys of a table are copied to its properties in the metastore; otherwise only those that "
    "other engines need there.",
)
TABLE_TYPE = Option(
    "table.type",
    choice("managed", EXTERNAL),
    "managed",
    "Type of new tables. The files of an external table stay when it is dropped or renamed.",
)
ALTER_TABLE_CASCADE = Option(
    "alter-table-cascade",
    boolean,
    True,
    "Whether a change of the columns of a table also changes those of its partitions in the metastore.",
)
SKIP_UPDATE_STATS = Option(
    "hive.skip-update-stats", boolean, False, "Whether the metastore keeps its statistics when a table is altered."
)
FORMAT_TABLE_ENABLED = Option(
    "format-table.enabled",
    boolean,
    True,
    "Whether tables of CSV, JSON, text, Parquet and ORC files in the metastore, among them those of Hive, are tables "
    "of the catalog.",
)
LOCK_ENABLED = Option(
    "lock.enabled",
    optional(boolean),
    None,
    "Whether snapshots are published and tables changed under a lock of the metastore. By default true if the "
    "warehouse is in an object store.",
)
LOCK_TYPE = Option("lock.type", choice("hive"), "hive", "Type of the lock.")
LOCK_CHECK_MAX_SLEEP = Option(
    "lock-check-max-sleep", duration, 8_000, "Longest wait between two looks at whether the lock is free."
)
LOCK_ACQUIRE_TIMEOUT = Option("lock-acquire-timeout", duration_within(1_000), 480_000, "Longest wait for the lock.")


@dataclass(frozen=True, slots=True)
class HiveOptions:
    """How the metastore is reached, and how the catalog uses it."""

    uri: str | None = URI.field()
    hive_conf_dir: str | None = HIVE_CONF_DIR.field()
    hadoop_conf_dir: str | None = HADOOP_CONF_DIR.field()
    client_class: str = CLIENT_CLASS.field()
    client_pool_size: int = CLIENT_POOL_SIZE.field()
    location_in_properties: bool = LOCATION_IN_PROPERTIES.field()
    sync_all_properties: bool = SYNC_ALL_PROPERTIES.field()
    table_type: str = TABLE_TYPE.field()
    alter_table_cascade: bool = ALTER_TABLE_CASCADE.field()
    skip_update_stats: bool = SKIP_UPDATE_STATS.field()
    format_table_enabled: bool = FORMAT_TABLE_ENABLED.field()
    lock_enabled: bool | None = LOCK_ENABLED.field()
    lock_type: str = LOCK_TYPE.field()
    lock_check_max_sleep_ms: int = LOCK_CHECK_MAX_SLEEP.field()
    lock_acquire_timeout_ms: int = LOCK_ACQUIRE_TIMEOUT.field()
