"""The stored schema of a table (``TableSchema``), and the schema with which a table is created (``Schema``).

Format chapter 02; Java ``org.apache.paimon.schema.TableSchema``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import pyarrow as pa

from table_format.counted import counted
from table_format.errors import InvalidInputError
from table_format.model import arguments
from table_format.model.arrow_types import fields_from_arrow
from table_format.model.column_names import no_such_column
from table_format.model.types import BigIntType, DataField, TinyIntType
from table_format.secrets import redact, shown_options

CURRENT_SCHEMA_VERSION: Final = 3
SCHEMA_VERSION_OF_0_7: Final = 1
"""The schema version of release 0.7 and older."""
FIRST_SCHEMA_ID: Final = 0

SYSTEM_FIELD_ID_START: Final = 1_073_741_823
KEY_FIELD_PREFIX: Final = "_KEY_"
SEQUENCE_NUMBER: Final = DataField(2_147_483_646, "_SEQUENCE_NUMBER", BigIntType(nullable=False))
VALUE_KIND: Final = DataField(2_147_483_645, "_VALUE_KIND", TinyIntType(nullable=False))
ROW_ID: Final = DataField(2_147_483_642, "_ROW_ID", BigIntType(nullable=False))
ROW_TRACKING: Final = tuple(DataField(f.id, f.name, f.type.with_nullable(True)) for f in (ROW_ID, SEQUENCE_NUMBER))
"""The columns that files of an append table with row tracking may have.

If a file lacks one, or it is null, the file's metadata contains the value.
"""
SYSTEM_FIELD_NAMES: Final = frozenset({"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID"})


@dataclass(frozen=True, slots=True, repr=False)
class TableSchema:
    """One stored schema of a table, which never changes.

    ``options`` are the table's options as stored, as texts by key. ``time_millis`` is the creation time of the schema
    in epoch milliseconds.
    """

    id: int
    fields: tuple[DataField, ...]
    highest_field_id: int
    partition_keys: tuple[str, ...] = ()
    primary_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    comment: str | None = None
    time_millis: int = 0
    version: int = CURRENT_SCHEMA_VERSION

    def __repr__(self) -> str:
        """The schema on one line, with secrets masked.

        >>> from table_format.types import BigIntType
        >>> TableSchema(3, (DataField(0, "id", BigIntType(nullable=False)),), 0, options={"bucket": "4"})
        TableSchema(id=3, columns: id BIGINT NOT NULL; options: bucket=4)
        """
        return f"TableSchema(id={self.id}, {_shown(self)})"

    def __reduce__(self) -> tuple[object, ...]:
        # A mapping proxy cannot be pickled; the other members can.
        members = (
            self.id,
            self.fields,
            self.highest_field_id,
            self.partition_keys,
            self.primary_keys,
            # A table written by other programs may contain secrets; no process needs them.
            shown_options(self.options),
            None if self.comment is None else redact(self.comment),
            self.time_millis,
            self.version,
        )
        return (TableSchema, members)

    @property
    def identity(self) -> str:
        """The id, the creation time and a digest of the columns: schemas with equal ids differ in it.

        Branches give the same ids to their own schemas. Options do not count, because other processes do not get the
        secrets in them.

        >>> from table_format.types import IntType
        >>> columns = (DataField(0, "id", IntType()),)
        >>> TableSchema(3, columns, 0, time_millis=5).identity == TableSchema(3, columns, 0, time_millis=6).identity
        False
        """
        columns = ",".join(f"{f.id} {f.name} {f.type}" for f in self.fields)
        return f"{self.id}:{self.time_millis}:{hashlib.sha256(columns.encode()).hexdigest()[:16]}"

    @property
    def field_names(self) -> tuple[str, ...]:
        """The names of all columns, in order."""
        return tuple(f.name for f in self.fields)

    @property
    def trimmed_primary_keys(self) -> tuple[str, ...]:
        """The primary key without partition columns: the key of the LSM tree."""
        return tuple(k for k in self.primary_keys if k not in self.partition_keys)

    @property
    def unmerged_columns(self) -> tuple[str, ...]:
        """The columns that no merge changes: the primary key, and the partition columns even if it lacks them."""
        return tuple(dict.fromkeys((*self.primary_keys, *self.partition_keys)))

    @property
    def bucket_keys(self) -> tuple[str, ...]:
        """The columns whose hash determines the bucket, in hash order; empty without ``bucket-key`` and primary key."""
        declared = self.options.get("bucket-key", "")
        if declared.strip():
            return tuple(k.strip() for k in declared.split(","))
        return self.trimmed_primary_keys

    @property
    def is_primary_key_table(self) -> bool:
        """Whether the table has a primary key."""
        return bool(self.primary_keys)

    @property
    def is_cross_partition(self) -> bool:
        """Whether the primary key lacks partition columns, so that a key may move to another partition."""
        return bool(self.primary_keys) and any(key not in self.primary_keys for key in self.partition_keys)

    def field(self, name: str) -> DataField:
        """Return the column with this name.

        Raises:
            ColumnNotFound: the schema has no such column.
        """
        for candidate in self.fields:
            if candidate.name == name:
                return candidate
        raise no_such_column(name, self.field_names)

    def select(self, names: Sequence[str]) -> tuple[DataField, ...]:
        """Return the columns with these names, in the given order."""
        return tuple(self.field(name) for name in names)

    @property
    def partition_fields(self) -> tuple[DataField, ...]:
        """The partition columns, in the order of the partition keys."""
        return self.select(self.partition_keys)

    @property
    def key_fields(self) -> tuple[DataField, ...]:
        """The ``_KEY_`` columns of data files."""
        return tuple(
            DataField(SYSTEM_FIELD_ID_START + f.id, KEY_FIELD_PREFIX + f.name, f.type.not_null())
            for f in self.select(self.trimmed_primary_keys)
        )

    @property
    def physical_fields(self) -> tuple[DataField, ...]:
        """The columns of a data file in the standard layout, in file order (format chapter 06, section 1)."""
        if not self.primary_keys:
            return self.fields
        return (*self.key_fields, SEQUENCE_NUMBER, VALUE_KIND, *self.fields)

    def written_fields(self, names: Collection[str]) -> tuple[DataField, ...]:
        """Return the columns with these names, in the given order; the metadata of a data file lists the names.

        Files of tables with row tracking also have the columns ``ROW_TRACKING``.

        Raises:
            ColumnNotFound: the schema has no such column.
        """
        tracking = {f.name: f for f in ROW_TRACKING}
        return tuple(tracking[name] if name in tracking else self.field(name) for name in names)

    @property
    def thin_fields(self) -> tuple[DataField, ...]:
        """The columns of a data file in thin mode, in which keys are stored only as value columns."""
        return (SEQUENCE_NUMBER, VALUE_KIND, *self.fields) if self.primary_keys else self.fields


@dataclass(frozen=True, slots=True, repr=False)
class Schema:
    """The schema of a new table. Field ids are assigned when the table is created."""

    fields: tuple[DataField, ...]
    partition_keys: tuple[str, ...] = ()
    primary_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None

    def __repr__(self) -> str:
        return f"Schema({_shown(self)})"

    @classmethod
    def from_arrow(
        cls,
        schema: pa.Schema,
        primary_keys: Sequence[str] | None = None,
        partition_keys: Sequence[str] | None = None,
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> Schema:
        """Return a schema with the columns of an Arrow schema; the metadata key ``description`` becomes the comment.

        Raises:
            InvalidInputError: an argument has a wrong type.
            InvalidSchema: a column has a type that the format cannot store.
        """
        if not isinstance(schema, pa.Schema):
            arguments.refuse("schema", "a pyarrow.Schema", schema)
        return cls(
            fields=fields_from_arrow(schema),
            partition_keys=arguments.name_or_names(() if partition_keys is None else partition_keys, "partition_keys"),
            primary_keys=arguments.name_or_names(() if primary_keys is None else primary_keys, "primary_keys"),
            options=arguments.options_by_key(options, "options"),
            comment=arguments.optional_text(comment, "comment"),
        )


def identified(identity: str) -> tuple[int, int]:
    """Return the id and the creation time in the identity of a schema.

    >>> identified("3:5:6e0aa0f6d4b3ba3b")
    (3, 5)

    Raises:
        InvalidInputError: the text is not the identity of a schema.
    """
    parts = identity.split(":")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts[:2]):
        message = f"expected the identity of a schema in a commit message, found {identity!r}"
        raise InvalidInputError(message)
    return int(parts[0]), int(parts[1])


def columns_text(fields: Sequence[DataField]) -> str:
    """Return the names and types of columns on one line; of many columns, the first ones.

    >>> from table_format.types import DateType, IntType
    >>> columns_text((DataField(0, "id", IntType(nullable=False)), DataField(1, "day", DateType())))
    'id INT NOT NULL, day DATE'
    """
    shown = ", ".join(f"{field.name} {field.type}" for field in fields[:_SHOWN_COLUMNS])
    more = len(fields) - _SHOWN_COLUMNS
    return shown if more <= 0 else f"{shown}, ... {counted(more, 'more column', 'more columns')}"


_SHOWN_COLUMNS: Final = 30


def _shown(schema: TableSchema | Schema) -> str:
    parts = [f"columns: {columns_text(schema.fields)}"]
    if schema.primary_keys:
        parts.append(f"primary key: {', '.join(schema.primary_keys)}")
    if schema.partition_keys:
        parts.append(f"partitioned by: {', '.join(schema.partition_keys)}")
    if schema.options:
        parts.append("options: " + ", ".join(f"{key}={value}" for key, value in shown_options(schema.options).items()))
    if schema.comment is not None:
        parts.append(f"comment: {redact(schema.comment)!r}")
    return "; ".join(parts)
