"""How a catalog uses its Hive metastore."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.catalog.hive.lock import HiveLock


@dataclass(frozen=True, slots=True)
class HiveSettings:
    """See ``HiveOptions``. ``lock`` is that of no table; ``None`` without locks."""

    locations_in_properties: bool = False
    copies_all: bool = True
    creates_external: bool = False
    cascades: bool = True
    skips_statistics: bool = False
    shows_format_tables: bool = True
    lock: HiveLock | None = None
