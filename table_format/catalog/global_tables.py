"""The tables of the database ``sys``, which describe all tables of a catalog (format chapter 14; Java
``AllTableOptionsTable``, ``CatalogOptionsTable``, ``AllTablesTable``, ``AllPartitionsTable``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final
from urllib.parse import unquote

from table_format.errors import InvalidInputError, NotFoundError, TableFormatError, TableNotFound
from table_format.model.condition import Filter
from table_format.model.identifier import SYSTEM_DATABASE
from table_format.model.local_time import epoch_ms
from table_format.model.types import BooleanType, DataField
from table_format.registry import Registry
from table_format.secrets import Secret, shown_option
from table_format.table.read.scan import columns_argument
from table_format.table.system.metadata import LONG, TEXT, MetadataScan, Row, columns
from table_format.table.system.partitions import partition_totals
from table_format.table.system.table import SystemTable
from table_format.table.table import Table

_log = logging.getLogger(__name__)

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


@dataclass(frozen=True, slots=True)
class CatalogView:
    """The input of the tables of ``sys``: the options of the catalog and every table that can be opened."""

    options: Mapping[str, str | Secret]
    tables: Callable[[], Iterator[Table]]
    shows_options: bool


Rows = Callable[[CatalogView], Sequence[Row]]


@dataclass(frozen=True, slots=True)
class GlobalTableKind:
    """One table of ``sys``: ``rows`` builds its rows, and ``is_shown`` says whether a catalog has it."""

    name: str
    columns: tuple[DataField, ...]
    rows: Rows
    is_shown: Callable[[CatalogView], bool] = lambda _: True


@dataclass(frozen=True, slots=True)
class GlobalTable(SystemTable):
    """A table of the database ``sys`` of one catalog."""

    kind: GlobalTableKind
    catalog: CatalogView

    @property
    def name(self) -> str:
        """The name of the table with its database."""
        return f"{SYSTEM_DATABASE}.{self.kind.name}"

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns, in order."""
        return self.kind.columns

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        options: Mapping[str, str] | None = None,
    ) -> MetadataScan:
        """A reading; see ``SystemTable``."""
        if options:
            message = f"'{self.name}' takes no options; remove {', '.join(options)}"
            raise InvalidInputError(message)
        return MetadataScan(self.fields, lambda: self.kind.rows(self.catalog), columns_argument(columns), filter)


def global_tables(catalog: CatalogView) -> Mapping[str, GlobalTable]:
    """Return the tables of the database ``sys`` of a catalog, by name."""
    return {kind.name: GlobalTable(kind, catalog) for kind in GLOBAL_TABLES.values() if kind.is_shown(catalog)}


def open_global_table(found: Mapping[str, GlobalTable], name: str) -> GlobalTable:
    """Return a table of the database ``sys``; its name is case-insensitive.

    Raises:
        TableNotFound: the table does not exist.
    """
    table = found.get(name.lower())
    if table is None:
        message = f"table '{SYSTEM_DATABASE}.{name}' does not exist; {SYSTEM_DATABASE} has {', '.join(found)}"
        raise TableNotFound(message)
    return table


def all_table_options(catalog: CatalogView) -> Sequence[Row]:
    """Return the options of every table."""
    return [
        {**_named(table), "key": key, "value": shown_option(key, value)}
        for table in catalog.tables()
        for key, value in sorted(table.schema.options.items())
    ]


def catalog_options(catalog: CatalogView) -> Sequence[Row]:
    """Return the options with which the catalog was opened."""
    return [{"key": key, "value": shown_option(key, value)} for key, value in sorted(catalog.options.items())]


def all_tables(catalog: CatalogView) -> Sequence[Row]:
    """Return every table. A file system catalog does not record owners and changes."""
    unknown: Row = dict.fromkeys(f.name for f in TABLES)
    return [
        {
            **unknown,
            **_named(table),
            "table_type": table.schema.options.get("type", "table"),
            "partitioned": bool(table.schema.partition_keys),
            "primary_key": bool(table.schema.primary_keys),
        }
        for table in catalog.tables()
    ]


def all_partitions(catalog: CatalogView) -> Sequence[Row]:
    """Return the partitions of every partitioned table."""
    rows: list[Row] = []
    for table in catalog.tables():
        if table.schema.partition_keys:
            rows.extend(_partition_rows(table))
    return rows


def _partition_rows(table: Table) -> Iterator[Row]:
    facts = table.facts
    try:
        # Several partitions can have one name: the directories of null, of an empty and of a blank text are the same.
        found = sorted(
            (
                (unquote(facts.partitions.text(partition)), totals)
                for partition, totals in partition_totals(facts).items()
            ),
            key=itemgetter(0),
        )
    except NotFoundError:
        return  # dropped during the read
    except TableFormatError as error:
        _log.warning("the partitions of %s are left out, they cannot be read: %s", facts.name, error)
        return
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


GLOBAL_TABLES: Final = Registry(
    "table of the database sys",
    (
        GlobalTableKind("all_table_options", ALL_TABLE_OPTIONS, all_table_options),
        GlobalTableKind("catalog_options", CATALOG_OPTIONS, catalog_options, lambda catalog: catalog.shows_options),
        GlobalTableKind("partitions", PARTITIONS, all_partitions),
        GlobalTableKind("tables", TABLES, all_tables),
    ),
    name_of=lambda kind: kind.name,
)


def register_global_table(kind: GlobalTableKind) -> None:
    """Add a table ``sys.<name>`` to every catalog of this process.

    Raises:
        AlreadyExistsError: a table with this name exists.
    """
    GLOBAL_TABLES.register(kind)
