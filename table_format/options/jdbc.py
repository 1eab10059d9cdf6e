"""Options of a catalog in a relational database (Java ``JdbcCatalogOptions`` and ``CatalogOptions``)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.options.declare import Option
from table_format.options.values import boolean, choice, duration, duration_within, integer, optional, secret, text
from table_format.secrets import Secret

URI = Option(
    "uri",
    optional(text),
    None,
    "Address of the database, as for Java: 'jdbc:sqlite:<path>', 'jdbc:postgresql://<host>:<port>/<database>' or "
    "'jdbc:mysql://<host>:<port>/<database>', which is also for MariaDB. Required.",
)
USER = Option("jdbc.user", optional(text), None, "User of the database. A file of SQLite has none.")
PASSWORD = Option("jdbc.password", optional(secret), None, "Password of the user.")
CATALOG_KEY = Option(
    "catalog-key", text, "jdbc", "Name of the catalog. Catalogs with different keys can share a database."
)
CLIENT_POOL_SIZE = Option("client-pool-size", integer(1), 2, "Connections to the database that are kept open.")
SYNC_ALL_PROPERTIES = Option(
    "sync-all-properties", boolean, True, "Whether options and keys of tables are copied to the database."
)
LOCK_ENABLED = Option(
    "lock.enabled",
    optional(boolean),
    None,
    "Whether snapshots are published and tables changed under a lock in the database. By default true if the warehouse "
    "is in an object store.",
)
LOCK_TYPE = Option("lock.type", choice("jdbc"), "jdbc", "Type of the lock.")
LOCK_CHECK_MAX_SLEEP = Option(
    "lock-check-max-sleep", duration, 8_000, "Longest wait between two attempts to take the lock."
)
LOCK_ACQUIRE_TIMEOUT = Option(
    "lock-acquire-timeout",
    duration_within(1_000),
    480_000,
    "Longest wait for the lock. A lock that is held for longer is free again: others delete it.",
)
LOCK_KEY_MAX_LENGTH = Option(
    "lock-key-max-length",
    integer(1),
    255,
    "Longest lock id, '<catalog-key>.<database>.<table>'. Used when the table of the locks is created.",
)


@dataclass(frozen=True, slots=True)
class JdbcOptions:
    """How the database is reached, and how the catalog uses it."""

    uri: str | None = URI.field()
    user: str | None = USER.field()
    password: Secret | None = PASSWORD.field()
    catalog_key: str = CATALOG_KEY.field()
    client_pool_size: int = CLIENT_POOL_SIZE.field()
    sync_all_properties: bool = SYNC_ALL_PROPERTIES.field()
    lock_enabled: bool | None = LOCK_ENABLED.field()
    lock_type: str = LOCK_TYPE.field()
    lock_check_max_sleep_ms: int = LOCK_CHECK_MAX_SLEEP.field()
    lock_acquire_timeout_ms: int = LOCK_ACQUIRE_TIMEOUT.field()
    lock_key_max_length: int = LOCK_KEY_MAX_LENGTH.field()
