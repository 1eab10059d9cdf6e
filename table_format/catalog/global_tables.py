"""The tables of the database ``sys``: what is known of all tables of a catalog (format chapter 14; Java
``AllTableOptionsTable``, ``CatalogOptionsTable``, ``AllTablesTable``, ``AllPartitionsTable``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from table_format.errors import InvalidInputError, NotFoundError, TableNotFound
from table_format.model.identifier import SYSTEM_DATABASE
from table_format.model.predicate import Predicate
from table_format.model.types import BooleanType, DataField
from table_format.secrets import Secret, shown_option
from table_format.table.read.scan import columns_argument
from table_format.table.system.metadata import LONG, TEXT, MetadataScan, Row, columns, epoch_ms
from table_format.table.system.partitions import partition_totals
from table_format.table.system.table import SystemTable
from table_format.table.table import Table

ALL_TABLE_OPTIONS: Final = columns(database_name=TEXT, table_name=TEXT, key=TEXT, value=TEXT)
CATALOG_OPTIONS: Final = columns(key=TEXT.not_null(), value=TEXT.not_null())
TABLES: Final = columns(
    database_name=TEXT,
    table_name=TEXT,
    table_type=TEXT,
    partitioned=BooleanType(),
    primary_key=BooleanType(),
    owner=TEXT,
    created_at=LONG,
    created_by=TEXT,
    updated_at=LONG,
    updated_by=TEXT,
    record_count=LONG,
    file_size_in_bytes=LONG,
    file_count=LONG,
    last_file_creation_time=LONG,
)
PARTITIONS: Final = columns(
    database_name=TEXT,
    table_name=TEXT,
    partition_name=TEXT,
    record_count=LONG,
    file_size_in_bytes=LONG,
    file_count=LONG,
    last_file_creation_time=LONG,
    done=BooleanType(),
)

Tables = Callable[[], Iterator[Table]]


@dataclass(frozen=True, slots=True)
class GlobalTable(SystemTable):
    """A table of the database ``sys``; ``rows`` makes all rows."""

    title: str
    columns: tuple[DataField, ...]
    rows: Callable[[], Sequence[Row]]

    @property
    def name(self) -> str:
        """The name of the table with its database."""
        return f"{SYSTEM_DATABASE}.{self.title}"

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns, in order."""
        return self.columns

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | Predicate | None = None,
        options: Mapping[str, str] | None = None,
    ) -> MetadataScan:
        """A reading; see ``SystemTable``."""
        if options:
            message = f"'{self.name}' belongs to no table and takes no options, but {', '.join(options)} was given"
            raise InvalidInputError(message)
        return MetadataScan(self.columns, self.rows, columns_argument(columns), filter)


def global_tables(
    options: Mapping[str, str | Secret], tables: Tables, *, with_options: bool
) -> Mapping[str, GlobalTable]:
    """The tables of ``sys`` by name; ``tables`` opens every table of the catalog that can be opened."""
    made = (
        GlobalTable("all_table_options", ALL_TABLE_OPTIONS, lambda: all_table_options(tables())),
        GlobalTable("catalog_options", CATALOG_OPTIONS, lambda: catalog_options(options)),
        GlobalTable("partitions", PARTITIONS, lambda: all_partitions(tables())),
        GlobalTable("tables", TABLES, lambda: all_tables(tables())),
    )
    return {table.title: table for table in made if with_options or table.title != "catalog_options"}


def open_global_table(found: Mapping[str, GlobalTable], name: str) -> GlobalTable:
    """The table of ``sys`` of that name; upper and lower case are the same.

    Raises:
        TableNotFound: there is none.
    """
    table = found.get(name.lower())
    if table is None:
        message = f"table '{SYSTEM_DATABASE}.{name}' does not exist; {SYSTEM_DATABASE} has {', '.join(found)}"
        raise TableNotFound(message)
    return table


def all_table_options(tables: Iterator[Table]) -> Sequence[Row]:
    """The options every table holds."""
    return [
        {**_named(table), "key": key, "value": shown_option(key, value)}
        for table in tables
        for key, value in sorted(table.schema.options.items())
    ]


def catalog_options(options: Mapping[str, str | Secret]) -> Sequence[Row]:
    """The options the catalog was opened with."""
    return [{"key": key, "value": shown_option(key, value)} for key, value in sorted(options.items())]


def all_tables(tables: Iterator[Table]) -> Sequence[Row]:
    """Every table; a catalog that is a directory tree knows nothing of owners and changes."""
    unknown: Row = dict.fromkeys(f.name for f in TABLES)
    return [
        {
            **unknown,
            **_named(table),
            "table_type": table.schema.options.get("type", "table"),
            "partitioned": bool(table.schema.partition_keys),
            "primary_key": bool(table.schema.primary_keys),
        }
        for table in tables
    ]


def all_partitions(tables: Iterator[Table]) -> Sequence[Row]:
    """The partitions of every partitioned table."""
    rows: list[Row] = []
    for table in tables:
        if table.schema.partition_keys:
            rows.extend(_partition_rows(table))
    return rows


def _partition_rows(table: Table) -> Iterator[Row]:
    facts = table.facts
    try:
        found = sorted(
            (unquote(facts.partitions.text(partition)), totals) for partition, totals in partition_totals(facts).items()
        )
    except NotFoundError:
        return  # dropped while it was read
    for name, totals in found:
        yield {
            **_named(table),
            "partition_name": name,
            "record_count": totals.record_count,
            "file_size_in_bytes": totals.byte_count,
            "file_count": totals.file_count,
            "last_file_creation_time": None if totals.last_creation_ms is None else epoch_ms(totals.last_creation_ms),
            "done": False,
        }


def _named(table: Table) -> Row:
    return {"database_name": table.identifier.database, "table_name": table.identifier.table}
