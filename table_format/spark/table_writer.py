"""Implements ``lake.write_to(frame, name)``: ``df.writeTo`` for tables of the lake."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from table_format.catalog.protocol import Catalog
from table_format.errors import InvalidInputError, InvalidOption
from table_format.model.condition import Condition
from table_format.model.schema import Schema
from table_format.model.types import DataField
from table_format.options.commit import DYNAMIC_PARTITION_OVERWRITE
from table_format.spark.names import Names
from table_format.spark.types import fields_of_spark
from table_format.spark.write.new_tables import create_filled, replace_table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class Destination(Protocol):
    """The interface of a lake that a writer needs."""

    @property
    def catalog(self) -> Catalog:
        """The catalog."""
        ...

    @property
    def write(self) -> Callable[..., object]:
        """``Lake.write``."""
        ...


@dataclass(frozen=True)
class TableWriter:
    """Writes a DataFrame to a table, which need not exist. Methods that set options return a new writer.

    >>> lake.write_to(frame, "shop.orders").partitioned_by("dt").create()  # doctest: +SKIP
    """

    lake: Destination
    frame: DataFrame
    name: str
    when_changed: Callable[[str], None]
    """Called with the name of a table that was created or replaced."""
    partition_keys: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)

    def partitioned_by(self, *columns: str) -> TableWriter:
        """Set the partition columns of a new table."""
        return replace(self, partition_keys=columns)

    def table_property(self, key: str, value: str) -> TableWriter:
        """Set an option of a new table, such as ``primary-key``."""
        return replace(self, properties={**self.properties, key: value})

    def option(self, key: str, value: str) -> TableWriter:
        """Set a dynamic option of this write, such as ``write.merge-schema``."""
        return replace(self, options={**self.options, key: value})

    def create(self, *, ignore_if_exists: bool = False) -> None:
        """Create the table with the rows. If this fails, the table does not exist.

        Raises:
            AlreadyExistsError: the table exists. With ``ignore_if_exists``, nothing is written instead.
        """
        if ignore_if_exists and self.lake.catalog.table_exists(self.name):
            return
        create_filled(self.lake.catalog, self.name, self._schema(), self._fill)
        self.when_changed(self.name)

    def replace(self) -> None:
        """Replace the table, including its snapshots, by a new table with the rows; all or nothing.

        Raises:
            TableNotFound: the table does not exist.
        """
        replace_table(self.lake.catalog, self.name, self._schema(), self._fill)
        self.when_changed(self.name)

    def create_or_replace(self) -> None:
        """Call ``replace`` if the table exists, otherwise ``create``."""
        if self.lake.catalog.table_exists(self.name):
            self.replace()
        else:
            self.create()

    def append(self) -> None:
        """Add the rows, or upsert them if the table has a primary key. Errors as ``Lake.write``."""
        self._check_existing()
        self._fill(self.name)

    def overwrite_partitions(self) -> None:
        """Replace the partitions that occur in the rows, or all rows of a table without partitions."""
        self._overwrite(dynamic=True)

    def overwrite(self, condition: str | Column | Condition | None = None) -> None:
        """Replace the partitions that match a condition on partition columns, or all rows of the table.

        The condition is Spark SQL, a Spark column, or a condition built with ``table_format.col``. Every new row must
        be in a partition that matches.

        >>> lake.write_to(frame, "shop.orders").overwrite("dt >= '2026-01-01'")  # doctest: +SKIP

        Raises:
            InvalidInputError: the condition names a column that is not a partition column, or a row is in a partition
                that does not match. Nothing is replaced.
        """
        self._overwrite(dynamic=False, condition=condition)

    def _overwrite(self, *, dynamic: bool, condition: str | Column | Condition | None = None) -> None:
        self._check_existing()
        if DYNAMIC_PARTITION_OVERWRITE.key in self.options:
            message = (
                "has no effect here, leave it out: overwrite_partitions() replaces the partitions of the rows, and "
                "overwrite() those of its condition"
            )
            raise InvalidOption(DYNAMIC_PARTITION_OVERWRITE.key, message)
        options = {**self.options, DYNAMIC_PARTITION_OVERWRITE.key: str(dynamic).lower()}
        self.lake.write(self.frame, self.name, "overwrite", where=condition, options=options)

    def _check_existing(self) -> None:
        if self.partition_keys or self.properties:
            message = "partitioned_by and table_property are for create, replace and create_or_replace"
            raise InvalidInputError(message)

    def _fill(self, name: str) -> None:
        self.lake.write(self.frame, name, "append", options=dict(self.options))

    def _schema(self) -> Schema:
        # As in Spark, all columns of a new table except its key may contain nulls.
        fields = tuple(
            DataField(f.id, f.name, f.type.with_nullable(True), f.description)
            for f in fields_of_spark(self.frame.schema)
        )
        Names.of(self.frame.sparkSession).check_new([f.name for f in fields])
        return Schema(fields, self.partition_keys, (), dict(self.properties))
