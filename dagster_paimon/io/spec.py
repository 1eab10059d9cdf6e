"""The metadata of an asset about its table: the keys of this package, and those of similar integrations.

Keys of dagster's ``DbIOManager``, dagster-iceberg and dagster-deltalake are supported, or refused with the key to use
instead; none is ignored. Output metadata of a run takes precedence over that of the asset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from table_format.engine.support import arguments, nearest
from table_format.errors import InvalidInputError


class WriteMode(StrEnum):
    """How rows are written to the table. Dagster shows the names, so they are in lower case."""

    append = "append"
    overwrite_partition = "overwrite_partition"
    overwrite_table = "overwrite_table"
    upsert = "upsert"
    delete = "delete"

    @property
    def replaces(self) -> bool:
        """Whether the rows of the frame replace existing rows."""
        return self in (WriteMode.overwrite_partition, WriteMode.overwrite_table)


class EmptyPartitions(StrEnum):
    """How partitions without rows and without a materialization are recorded."""

    materialize = "materialize"
    skip = "skip"


INSTEAD: Final[Mapping[str, str]] = {
    "overwrite_schema": "set schema_evolution of the IO manager",
    "schema_mode": "set schema_evolution of the IO manager, or schema_update_mode",
    "writer_properties": "use paimon/options, such as file.format and file.compression",
    "merge_predicate": "use paimon/write_mode upsert or delete, which use the primary key",
    "merge_operations_config": "use paimon/write_mode upsert or delete, which use the primary key",
    "merge_type": "use paimon/write_mode upsert or delete, which use the primary key",
    "predicate": "partition_expr determines which rows a run replaces",
    "partition_spec_update_mode": "the partition columns of a Paimon table never change",
    "partition_field_name_prefix": "a Paimon table is partitioned by columns, which keep their names",
    "partition_by": "use partition_expr, or paimon/partition_by for other columns",
    "root_name": "use paimon/table",
}
"""Keys of other integrations that are not supported, and what to use instead."""

INSTEAD_FOR_INPUT: Final[Mapping[str, str]] = {
    "table_version": "use paimon/read: snapshot:<id>",
    "version": "use paimon/read: snapshot:<id>",
    "predicate": "use partitions, or filter the frame",
    "partition_expr": "set it on the asset that is read",
}

_KEYS: Final = (
    "table",
    "write_mode",
    "primary_key",
    "options",
    "comment",
    "comments",
    "partition_scope",
    "partition_by",
    "row_partition",
    "empty_partitions",
    "branch",
    "wap",
    "properties",
    "watermark",
    "freshness",
)
_INPUT_KEYS: Final = ("read", "open_end", "branch")
_FOREIGN_KEYS: Final = (
    "partition_expr",
    "write_mode",
    "mode",
    "schema",
    "upsert_options",
    "schema_update_mode",
    "table_properties",
    "table_configuration",
    "custom_metadata",
    "commit_properties",
)
_FOREIGN_INPUT_KEYS: Final = ("columns",)
_SHORTEST_CHECKED: Final = 7
"""Shorter names such as ``mode`` and ``table`` are too similar to words for other metadata."""
_LIKENESS: Final = 0.83
_COMMON_WORDS: Final = frozenset({"comment", "comments", "options", "properties", "freshness"})
_MODES: Final = {"append": WriteMode.append, "overwrite": None, "upsert": WriteMode.upsert, "merge": WriteMode.upsert}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSpec:
    """The metadata of an asset about its table. ``partition_expr`` is a column, or a column for each dimension.
    ``partition_by`` holds the partition columns of a new table; ``None`` if ``partition_expr`` determines them.
    ``row_partition`` is like ``partition_expr``, for columns that are not stored and determine the partition of each
    row of the frame. ``widens`` is the value of schema_update_mode, if it is set.
    """

    table: str
    mode: WriteMode
    scope: str
    partition_expr: str | Mapping[str, str] | None
    partition_by: tuple[str, ...] | None
    row_partition: str | Mapping[str, str] | None
    empty_partitions: EmptyPartitions
    primary_key: tuple[str, ...]
    options: Mapping[str, str]
    comment: str | None
    comments: Mapping[str, str]
    branch: str | None = None
    wap: bool = False
    widens: bool | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    watermark: int | None = None

    @classmethod
    def of(cls, table: str, metadata: Mapping[str, Any], default_mode: WriteMode) -> WriteSpec:
        """Read the keys ``partition_expr`` and ``paimon/…``, and those of similar integrations.

        Raises:
            InvalidInputError: a key is unknown or not supported, or a value is invalid.
        """
        refuse_unknown(metadata, _KEYS, table)
        refuse_foreign(metadata, INSTEAD, table)
        refuse_misspelt(metadata, _FOREIGN_KEYS, _KEYS, table)
        mode = _mode(metadata, default_mode, table)
        scope = arguments.text(metadata.get("paimon/partition_scope", "table"), f"{table}: paimon/partition_scope")
        if scope not in ("table", "input") or (scope == "input" and mode == WriteMode.overwrite_partition):
            message = (
                f"{table}: paimon/partition_scope '{scope}' with {mode}: expected 'table', or 'input' for a table that "
                "is not partitioned by the Dagster partition, which is upserted or appended to"
            )
            raise InvalidInputError(message)
        by = metadata.get("paimon/partition_by")
        return cls(
            table=table,
            mode=mode,
            scope=scope,
            partition_expr=_expression(metadata.get("partition_expr"), f"{table}: partition_expr"),
            partition_by=None if by is None else arguments.name_or_names(by, f"{table}: paimon/partition_by"),
            row_partition=_expression(metadata.get("paimon/row_partition"), f"{table}: paimon/row_partition"),
            empty_partitions=_empty_partitions(metadata.get("paimon/empty_partitions"), scope, table),
            primary_key=_primary_key(metadata, table),
            options=_options(metadata, table),
            comment=arguments.optional_text(metadata.get("paimon/comment"), f"{table}: paimon/comment"),
            comments=arguments.texts_by_text(metadata.get("paimon/comments"), f"{table}: paimon/comments"),
            branch=arguments.optional_text(metadata.get("paimon/branch"), f"{table}: paimon/branch"),
            wap=_wap(metadata, table),
            widens=_widens(metadata, table),
            properties=_properties(metadata, table),
            watermark=arguments.optional_whole_number(metadata.get("paimon/watermark"), f"{table}: paimon/watermark"),
        )

    def on(self, branch: str | None) -> WriteSpec:
        """Return the same metadata for a branch."""
        return replace(self, branch=branch)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that ``partition_expr`` names."""
        return _columns(self.partition_expr)

    @property
    def dropped(self) -> frozenset[str]:
        """The columns of the frame that are not stored."""
        return frozenset(_columns(self.row_partition))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpec:
    """The metadata of an input."""

    columns: tuple[str, ...] | None
    read: str | None
    open_end: bool
    branch: str | None

    @classmethod
    def of(cls, name: str, metadata: Mapping[str, Any]) -> ReadSpec:
        """Read the keys ``columns``, ``paimon/read``, ``paimon/open_end`` and ``paimon/branch``.

        Raises:
            InvalidInputError: a key is unknown or not supported, or a value is invalid.
        """
        where = f"input '{name}'"
        refuse_unknown(metadata, _INPUT_KEYS, where)
        refuse_foreign(metadata, INSTEAD_FOR_INPUT, where)
        refuse_misspelt(metadata, _FOREIGN_INPUT_KEYS, _INPUT_KEYS, where)
        columns = metadata.get("columns")
        return cls(
            columns=None if columns is None else arguments.name_or_names(columns, f"{where}: columns"),
            read=arguments.optional_text(metadata.get("paimon/read"), "paimon/read"),
            open_end=arguments.flag(metadata.get("paimon/open_end", False), f"{where}: paimon/open_end"),
            branch=arguments.optional_text(metadata.get("paimon/branch"), f"{where}: paimon/branch"),
        )


def refuse_unknown(metadata: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """Refuse keys ``paimon/…`` that do not exist.

    Raises:
        InvalidInputError: a key does not exist; the message names it.
    """
    unknown = sorted(k for k in metadata if k.startswith("paimon/") and k.removeprefix("paimon/") not in known)
    if unknown:
        message = f"{where}: metadata {', '.join(unknown)}: expected one of paimon/{', paimon/'.join(known)}"
        raise InvalidInputError(message)


def refuse_misspelt(metadata: Mapping[str, Any], plain: Sequence[str], prefixed: Sequence[str], where: str) -> None:
    """Refuse keys similar to one of ``plain``, or similar or equal to one of ``prefixed`` without its prefix. Other
    keys are the user's own metadata.

    Raises:
        InvalidInputError: a key is misspelt; the message names the likely key.

    >>> refuse_misspelt({"write_mod": "append"}, ["write_mode"], [], "shop.orders")
    Traceback (most recent call last):
    ...
    table_format.errors.InvalidInputError: shop.orders: the metadata key 'write_mod' has no effect; is write_mode meant?
    """
    meant = {name: f"paimon/{name}" for name in prefixed} | {name: name for name in plain}
    checked = [name for name in meant if len(name) >= _SHORTEST_CHECKED and name not in _COMMON_WORDS]
    for key in metadata:
        near = nearest(key, checked, cutoff=_LIKENESS) if key not in plain else []
        if near and "/" not in key:
            message = f"{where}: the metadata key '{key}' has no effect; is {meant[near[0]]} meant?"
            raise InvalidInputError(message)


def refuse_foreign(metadata: Mapping[str, Any], instead: Mapping[str, str], where: str) -> None:
    """Refuse keys of other integrations that are not supported.

    Raises:
        InvalidInputError: a key is not supported; the message names the alternative.
    """
    for key, advice in instead.items():
        if key in metadata:
            message = f"{where}: the metadata key '{key}' has no effect on a Paimon table: {advice}"
            raise InvalidInputError(message)


def _mode(metadata: Mapping[str, Any], default: WriteMode, table: str) -> WriteMode:
    mode = str(arguments.text(metadata.get("paimon/write_mode", default), f"{table}: paimon/write_mode"))
    if mode not in WriteMode.__members__:
        message = f"{table}: paimon/write_mode '{mode}': expected one of {', '.join(WriteMode)}"
        raise InvalidInputError(message)
    for key in ("write_mode", "mode"):
        if key not in metadata or "paimon/write_mode" in metadata:
            continue
        foreign = str(getattr(metadata[key], "value", metadata[key]))
        if foreign not in _MODES:
            message = f"{table}: {key} '{foreign}': expected append, overwrite or upsert, or one of paimon/write_mode"
            raise InvalidInputError(message)
        meant = _MODES[foreign]
        return meant or (WriteMode.overwrite_partition if "partition_expr" in metadata else WriteMode.overwrite_table)
    return WriteMode(mode)


def _expression(value: object, what: str) -> str | Mapping[str, str] | None:
    if value is None or (isinstance(value, str) and value):
        return value
    if isinstance(value, Mapping) and value and all(isinstance(x, str) for pair in value.items() for x in pair):
        return dict(value)
    message = f"{what} {value!r}: expected the name of one column, or of one for each dimension of the partitions"
    raise InvalidInputError(message)


def _columns(expression: str | Mapping[str, str] | None) -> tuple[str, ...]:
    if expression is None:
        return ()
    return (expression,) if isinstance(expression, str) else tuple(expression.values())


def _empty_partitions(value: object, scope: str, table: str) -> EmptyPartitions:
    if value is None:
        return EmptyPartitions.skip if scope == "input" else EmptyPartitions.materialize
    if str(value) not in EmptyPartitions.__members__:
        message = f"{table}: paimon/empty_partitions {value!r}: expected one of {', '.join(EmptyPartitions)}"
        raise InvalidInputError(message)
    return EmptyPartitions(str(value))


def _primary_key(metadata: Mapping[str, Any], table: str) -> tuple[str, ...]:
    key = arguments.name_or_names(metadata.get("paimon/primary_key", ()), f"{table}: paimon/primary_key")
    options = metadata.get("upsert_options")
    if options is None:
        return key
    given = options if isinstance(options, Mapping) else getattr(options, "model_dump", dict)()
    for name in ("when_matched_update_all", "when_not_matched_insert_all"):
        if given.get(name, True) is not True:
            message = f"{table}: upsert_options {name} = {given[name]}: an upsert replaces rows and adds new ones; " + (
                "use merge-engine = first-row in paimon/options to keep rows that exist"
                if name == "when_matched_update_all"
                else "filter the frame"
            )
            raise InvalidInputError(message)
    columns = arguments.name_or_names(given.get("join_cols", ()), f"{table}: upsert_options join_cols")
    if key and set(columns) != set(key):
        message = f"{table}: upsert_options join by {', '.join(columns)}, paimon/primary_key is {', '.join(key)}"
        raise InvalidInputError(message)
    return key or columns


def _options(metadata: Mapping[str, Any], table: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in ("table_properties", "table_configuration", "paimon/options"):
        options = metadata.get(key, {})
        if not isinstance(options, Mapping):
            arguments.refuse(f"{table}: {key}", "a mapping of options to values", options)
        found |= {str(k): str(v) for k, v in options.items()}
    return found


def _wap(metadata: Mapping[str, Any], table: str) -> bool:
    wap = arguments.flag(metadata.get("paimon/wap", False), f"{table}: paimon/wap")
    if wap and metadata.get("paimon/branch") is not None:
        message = f"{table}: paimon/wap writes to a separate branch for each run; remove paimon/branch"
        raise InvalidInputError(message)
    return wap


def _widens(metadata: Mapping[str, Any], table: str) -> bool | None:
    wanted = metadata.get("schema_update_mode")
    if wanted is None:
        return None
    text = str(getattr(wanted, "value", wanted))
    if text not in ("error", "update"):
        message = f"{table}: schema_update_mode '{text}': expected error or update"
        raise InvalidInputError(message)
    return text == "update"


def _properties(metadata: Mapping[str, Any], table: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in ("custom_metadata", "commit_properties", "paimon/properties"):
        found |= arguments.texts_by_text(metadata.get(key), f"{table}: {key}")
    return found
