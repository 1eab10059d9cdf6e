"""Options of materialized tables: the query that fills the table, and how fresh it must be.

Flink stores the same options (Java ``CoreOptions``, ``FlinkCatalog.fillOptionsForMaterializedTable``). Other engines
ignore them, and read and write such a table like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.options.declare import Option, declared_in, hint
from table_format.options.kind import is_materialized_table
from table_format.options.values import MAX_LONG, constant, integer, optional, text, verbatim

UNITS_MS: Final[Mapping[str, int]] = {"second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
"""The units of a freshness, in milliseconds."""
FULL: Final = "full"
CONTINUOUS: Final = "continuous"
AUTOMATIC: Final = "automatic"
ACTIVATED: Final = "activated"
SUSPENDED: Final = "suspended"

DEFINITION_QUERY = Option(
    "materialized-table.definition-query",
    optional(verbatim),
    None,
    "The query that fills a materialized table. Names of tables have their database.",
)
INTERVAL_FRESHNESS = Option(
    "materialized-table.interval-freshness",
    optional(integer(1, MAX_LONG)),
    None,
    "The age that the rows of a materialized table may have, in units of 'materialized-table.interval-freshness."
    "time-unit'.",
)
TIME_UNIT = Option(
    "materialized-table.interval-freshness.time-unit",
    optional(constant(*UNITS_MS)),
    None,
    "Unit of the freshness of a materialized table.",
)
LOGICAL_REFRESH_MODE = Option(
    "materialized-table.logical-refresh-mode",
    optional(constant(AUTOMATIC, FULL, CONTINUOUS)),
    None,
    "The refresh mode that CREATE MATERIALIZED TABLE has asked for.",
    honoured=(AUTOMATIC, FULL),
)
REFRESH_MODE = Option(
    "materialized-table.refresh-mode",
    optional(constant(FULL, CONTINUOUS)),
    None,
    "How a materialized table is refreshed: by runs of its query. Flink also has streaming jobs that never end.",
    honoured=(FULL,),
)
REFRESH_STATUS = Option(
    "materialized-table.refresh-status",
    optional(constant("initializing", ACTIVATED, SUSPENDED)),
    None,
    "Whether a materialized table is refreshed when its rows are too old.",
)
HANDLER_DESCRIPTION = hint(
    "materialized-table.refresh-handler-description",
    optional(text),
    None,
    "The job or workflow of Flink that refreshes a materialized table.",
)
HANDLER_BYTES = hint(
    "materialized-table.refresh-handler-bytes",
    optional(text),
    None,
    "The job or workflow of Flink that refreshes a materialized table, encoded.",
)


@dataclass(frozen=True, slots=True)
class MaterializedTableOptions:
    """The query of the table, and when it runs."""

    query: str | None = DEFINITION_QUERY.field()
    interval: int | None = INTERVAL_FRESHNESS.field()
    unit: str | None = TIME_UNIT.field()
    logical_mode: str | None = LOGICAL_REFRESH_MODE.field()
    mode: str | None = REFRESH_MODE.field()
    status: str | None = REFRESH_STATUS.field()
    handler: str | None = HANDLER_DESCRIPTION.field()
    handler_bytes: str | None = HANDLER_BYTES.field()

    @property
    def freshness_ms(self) -> int | None:
        """The age that the rows may have, in milliseconds.

        >>> MaterializedTableOptions(interval=30, unit="second").freshness_ms
        30000
        """
        return None if self.interval is None or self.unit is None else self.interval * UNITS_MS[self.unit]


OF_THE_QUERY: Final = tuple(declared_in(MaterializedTableOptions))
"""The options that only a materialized table has."""

_REQUIRED: Final = (DEFINITION_QUERY, INTERVAL_FRESHNESS, TIME_UNIT, LOGICAL_REFRESH_MODE, REFRESH_MODE, REFRESH_STATUS)
"""The options without which Flink cannot load a materialized table."""


def freshness_text(options: Mapping[str, str]) -> str:
    """Return the freshness of a materialized table in SQL.

    >>> freshness_text({INTERVAL_FRESHNESS.key: "30", TIME_UNIT.key: "SECOND"})
    "INTERVAL '30' SECOND"
    """
    return f"INTERVAL '{INTERVAL_FRESHNESS.read(options)}' {(TIME_UNIT.read(options) or '').upper()}"


def check_materialized(schema: TableSchema) -> None:
    """Refuse a materialized table without its query, its freshness or its mode.

    Raises:
        InvalidOption: names the first missing option.
    """
    if not is_materialized_table(schema.options):
        return
    for option in _REQUIRED:
        if option.key not in schema.options:
            message = "is required for a materialized table; create one with CREATE MATERIALIZED TABLE"
            raise InvalidOption(option.key, message)


def check_columns_of_query(old: TableSchema, new: TableSchema) -> None:
    """Refuse other columns without another query, whose next refresh would not fit them.

    Raises:
        UnsupportedFeature: says which statement changes both.
    """
    if not is_materialized_table(new.options):
        return
    before, after = ([(field.name, field.type) for field in schema.fields] for schema in (old, new))
    if before != after and old.options.get(DEFINITION_QUERY.key) == new.options.get(DEFINITION_QUERY.key):
        feature = "changing the columns of a materialized table"
        message = (
            f"{feature} is not supported: its query determines them; use ALTER MATERIALIZED TABLE ... AS, which can "
            "add columns"
        )
        raise UnsupportedFeature(feature, message)
