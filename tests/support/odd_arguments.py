"""Every public call that commits or publishes, with good arguments and with all that a caller may hand in instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from table_format import Schema, Table, load_catalog
from table_format.catalog.filesystem import FileSystemCatalog
from table_format.errors import BucketCountChanged, TableFormatError, UnsupportedFeature
from table_format.io.file_io import FileIO
from table_format.io.memory import MemoryFileIO
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    DropColumn,
    MoveColumn,
    RemoveOption,
    RenameColumn,
    SetColumnComment,
    SetComment,
    SetNullability,
    SetOption,
)
from table_format.model.types import (
    ArrayType,
    BigIntType,
    CharType,
    DataField,
    DataType,
    IntType,
    RowType,
    VarCharType,
)
from table_format.table.changes.merge_into import Insert
from tests.support.tables import KEYED, keyed, memory_warehouse

TABLE: Final = "db.t"
ROWS: Final = keyed([(9, "a", 1)])
ODD: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**400),
    *(0.5, float("nan"), float("inf"), Decimal("1e9"), 1j),
    *("", "7", "x", " ", "\0", "a\0b", "\ud800", "a\ud800b", "a/b", "..", "é" * 300, "x" * 3000, "🎈" * 60, "\n"),
    *(b"x", bytearray(b"x"), datetime(2020, 1, 1), object(), int, lambda _rows: None, range(3), slice(1)),
    *(np.int64(7), np.uint64(2**64 - 1), np.bool_(True), np.float64(1.5), np.array([1, 2])),
    *([], ["a"], ("a",), ("a", 1), [None], [2**70], [-1], ["\ud800"], {1}),
    *({}, {"a": 1}, {1: "a"}, {"a": None}, {"a": "\ud800"}, {"\ud800": "a"}, {"a": {"b": "c"}}),
    *([{}], [{"a": 1}], {"dt": "x"}, {"dt": object()}, [{"dt": "é" * 300}], {"dt": 2**70}, [[1]]),
    *(VarCharType(length=0), CharType(length=2**40), RowType(()), IntType(nullable="x"), DataType()),  # type: ignore
    *(ArrayType(None), RowType((DataField(0, "\ud800", IntType()),)), DataField(0, "a", None)),  # type: ignore
)
"""What callers hand in beside what is meant: other types, extremes, texts that no file can hold."""


@dataclass(frozen=True)
class Call:
    """A public call and good arguments for it."""

    run: Callable[..., object]
    arguments: Mapping[str, Any]


def _committed(method: str) -> Callable[..., object]:
    def run(_catalog: FileSystemCatalog, table: Table, **arguments: Any) -> object:
        messages = table.new_write("u").write(ROWS)
        commit = table.new_commit("u")
        try:
            return getattr(commit, method)(messages, **arguments)
        except Exception:
            commit.abort(messages)
            raise

    return run


def _of_table(method: str, *positional: str) -> Callable[..., object]:
    def run(_catalog: FileSystemCatalog, table: Table, **arguments: Any) -> object:
        first = [arguments.pop(name) for name in positional]
        return getattr(table, method)(*first, **arguments)

    return run


def _of_catalog(method: str) -> Callable[..., object]:
    return lambda catalog, _table, **arguments: getattr(catalog, method)(**arguments)


def _change(kind: Any) -> Callable[..., object]:
    return lambda catalog, _table, **arguments: catalog.alter_table(TABLE, [kind(**arguments)])


def _created(
    catalog: FileSystemCatalog, _table: Table, *, columns: Any, ignore_if_exists: Any, **schema: Any
) -> object:
    wanted = Schema.from_arrow(columns, **schema)
    return catalog.create_table("db.new", wanted, ignore_if_exists=ignore_if_exists)


def _written(_catalog: FileSystemCatalog, table: Table, *, commit_user: Any) -> object:
    messages = table.new_write(commit_user).write(ROWS)
    return table.new_commit(commit_user).commit(messages, identifier=1)


_WHO: Final = {"commit_user": "u", "identifier": 5, "properties": {"a": "b"}}
_COLUMN: Final = DataField(0, "a", IntType())
CALLS: Final[Mapping[str, Call]] = {
    "append": Call(_of_table("append", "data"), {"data": ROWS, **_WHO}),
    "overwrite": Call(_of_table("overwrite", "data"), {"data": ROWS, "partition": None, **_WHO}),
    "delete": Call(_of_table("delete", "where"), {"where": "id = 1", **_WHO}),
    "update": Call(_of_table("update", "set_"), {"set_": {"v": "v + 1"}, "where": "id = 1", **_WHO}),
    "merge": Call(
        _of_table("merge", "source", "on"),
        {
            "source": ROWS,
            "on": ["id"],
            "when_matched": (),
            "when_not_matched": Insert(),
            "when_not_matched_by_source": (),
            **_WHO,
        },
    ),
    "commit": Call(_committed("commit"), {"identifier": 5, "watermark": 3, "properties": {"a": "b"}}),
    "commit.overwrite": Call(
        _committed("overwrite"), {"identifier": 5, "watermark": 3, "properties": {"a": "b"}, "partition": None}
    ),
    "new_write": Call(_written, {"commit_user": "u"}),
    "is_committed": Call(lambda _c, t, **a: t.new_commit("u").is_committed(**a), {"identifier": 1}),
    "filter_committed": Call(
        lambda _c, t, **a: t.new_commit("u").filter_committed(**a), {"identifiers": [1], "since": 0}
    ),
    "drop_partitions": Call(_of_table("drop_partitions"), {"partitions": [{"dt": "a"}]}),
    "compact": Call(
        _of_table("compact"),
        {"full": True, **dict.fromkeys(("partitions", "buckets", "order_by", "order_strategy", "temporary_directory"))},
    ),
    "rescale": Call(_of_table("rescale"), {"bucket": 3, "partitions": None}),
    "rollback_before": Call(
        _of_table("rollback_before"), {"commit_user": "u", "properties": {"run": "1"}, "including_others": False}
    ),
    "plan_rollback": Call(_of_table("plan_rollback", "target"), {"target": 1}),
    "plan_rollback_before": Call(_of_table("plan_rollback_before"), {"commit_user": "u", "properties": {"run": "1"}}),
    "analyze": Call(_of_table("analyze"), {"columns": ["id"]}),
    "expire_snapshots": Call(
        _of_table("expire_snapshots"),
        {
            "dry_run": False,
            "retain_max": 5,
            "retain_min": 1,
            "older_than_ms": None,
            "limit": 10,
            "retain_floor_ms": 0,
        },
    ),
    "expire_changelogs": Call(
        _of_table("expire_changelogs"),
        {"dry_run": False, "retain_max": 5, "retain_min": 1, "older_than_ms": None, "limit": 10, "everything": False},
    ),
    "remove_orphan_files": Call(
        _of_table("remove_orphan_files"), {"older_than_ms": None, "dry_run": False, "nobody_else_writes": False}
    ),
    "create_tag": Call(
        _of_table("create_tag"), {"name": "n", "snapshot_id": 1, "time_retained_ms": 1000, "ignore_if_exists": False}
    ),
    "replace_tag": Call(_of_table("replace_tag"), {"name": "keep", "snapshot_id": 1, "time_retained_ms": 1000}),
    "rename_tag": Call(_of_table("rename_tag"), {"name": "keep", "new_name": "n2"}),
    "delete_tag": Call(_of_table("delete_tag"), {"name": "keep"}),
    "expire_tags": Call(_of_table("expire_tags"), {"older_than_ms": None, "dry_run": False}),
    "create_branch": Call(
        _of_table("create_branch"), {"name": "b2", "tag": None, "snapshot_id": None, "ignore_if_exists": False}
    ),
    "rename_branch": Call(_of_table("rename_branch"), {"name": "br", "new_name": "b3"}),
    "delete_branch": Call(_of_table("delete_branch"), {"name": "br"}),
    "fast_forward": Call(_of_table("fast_forward"), {"name": "br"}),
    "rollback_to": Call(_of_table("rollback_to"), {"target": 1}),
    "rollback_to_timestamp": Call(_of_table("rollback_to_timestamp"), {"time_ms": 2**62}),
    "reset_consumer": Call(_of_table("reset_consumer"), {"name": "c2", "next_snapshot_id": 2}),
    "delete_consumer": Call(_of_table("delete_consumer"), {"name": "c"}),
    "copy": Call(lambda _c, t, options: t.copy(options).append(ROWS), {"options": {"write-only": "true"}}),
    "scan": Call(lambda _c, t, **a: t.scan(**a).to_arrow(), {"columns": ["id"], "filter": "id = 1", "options": {}}),
    "create_database": Call(_of_catalog("create_database"), {"name": "d2", "ignore_if_exists": False}),
    "drop_database": Call(
        _of_catalog("drop_database"), {"name": "db", "ignore_if_not_exists": False, "cascade": False}
    ),
    "load_table": Call(_of_catalog("load_table"), {"name": TABLE}),
    "load_any": Call(_of_catalog("load_any"), {"name": TABLE}),
    "load_system_table": Call(_of_catalog("load_system_table"), {"name": f"{TABLE}$files"}),
    "create_table": Call(
        _created,
        {
            "columns": KEYED,
            "primary_keys": ("id",),
            "partition_keys": (),
            "options": {"bucket": "1"},
            "comment": "c",
            "ignore_if_exists": False,
        },
    ),
    "create_table(Schema)": Call(
        lambda catalog, _t, **members: catalog.create_table("db.new", Schema(**members)),
        {"fields": (_COLUMN,), "partition_keys": (), "primary_keys": (), "options": {}, "comment": None},
    ),
    "create_table(DataField)": Call(
        lambda catalog, _t, **members: catalog.create_table("db.new", Schema((DataField(**members),))),
        {"id": 0, "name": "a", "type": IntType(), "description": None, "default_value": None},
    ),
    "create_table(schema)": Call(_of_catalog("create_table"), {"name": "db.new", "schema": Schema((_COLUMN,))}),
    "alter_table": Call(_of_catalog("alter_table"), {"name": TABLE, "changes": [SetComment("x")]}),
    "rename_table": Call(_of_catalog("rename_table"), {"source": TABLE, "target": "db.t9"}),
    "drop_table": Call(_of_catalog("drop_table"), {"name": TABLE, "ignore_if_not_exists": False}),
    "AddColumn": Call(
        _change(AddColumn), {"name": "n", "type": IntType(), "comment": None, "after": None, "first": False}
    ),
    "DropColumn": Call(_change(DropColumn), {"name": "v"}),
    "RenameColumn": Call(_change(RenameColumn), {"name": "v", "new_name": "w"}),
    "AlterColumnType": Call(_change(AlterColumnType), {"name": "v", "type": BigIntType()}),
    "SetNullability": Call(_change(SetNullability), {"name": "v", "nullable": True}),
    "SetColumnComment": Call(_change(SetColumnComment), {"name": "v", "comment": "x"}),
    "MoveColumn": Call(_change(MoveColumn), {"name": "v", "after": None, "first": True}),
    "SetComment": Call(_change(SetComment), {"comment": "x"}),
    "SetOption": Call(_change(SetOption), {"key": "write-only", "value": "true"}),
    "RemoveOption": Call(_change(RemoveOption), {"key": "bucket"}),
}

KINDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "append": {},
    "keyed": {"primary_keys": ["id"]},
    "partitioned": {"primary_keys": ["id", "dt"], "partition_keys": ["dt"]},
    "append, partitioned": {"partition_keys": ["dt"]},
    "dynamic buckets": {"primary_keys": ["id"], "options": {"bucket": "-1"}},
    "postponed": {"primary_keys": ["id"], "options": {"bucket": "-2"}},
    "deletion vectors": {"primary_keys": ["id"], "options": {"deletion-vectors.enabled": "true"}},
}


@cache
def files_of_kind(kind: str) -> Mapping[str, bytes]:
    """Every file of a warehouse with one table of that kind, with history, a tag, a branch and a consumer."""
    warehouse = memory_warehouse()
    table = warehouse.table("t", **KINDS[kind])
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    table.append(keyed([(3, "a", 1)]))
    table.create_tag("keep", 1)
    table.create_branch("br", tag="keep")
    table.reset_consumer("c", 1)
    return everything(warehouse.io)


def everything(io: FileIO, directory: str = "/warehouse") -> dict[str, bytes]:
    """Every file below a directory with its bytes, hidden ones as well."""
    found: dict[str, bytes] = {}
    for child in (*io.list(directory), *io.list_hidden(directory)):
        path = f"{directory}/{child.name}"
        found |= everything(io, path) if child.is_directory else {path: io.read(path)}
    return found


def opened(files: Mapping[str, bytes]) -> FileSystemCatalog:
    """A catalog over a copy of the files."""
    io = MemoryFileIO()
    for path, data in files.items():
        io.create(path, data)
    catalog = load_catalog({"warehouse": "/warehouse"}, file_io=io)
    assert isinstance(catalog, FileSystemCatalog)
    return catalog


def outcome(name: str, kind: str, arguments: Mapping[str, Any]) -> str:
    """Make the call; what became of it, once the law was checked.

    See ``outcome_of``.
    """
    return outcome_of(lambda catalog, table: CALLS[name].run(catalog, table, **arguments), kind)


def outcome_of(action: Callable[[FileSystemCatalog, Table], object], kind: str) -> str:
    """The name of an error of the library, and every file is as before; or ``accepted``, and the table goes on working.

    Raises:
        AssertionError: the action was refused and changed a file.
        Exception: the action, or work on the table after it, failed otherwise.
    """
    before = files_of_kind(kind)
    catalog = opened(before)
    table = catalog.load_table(TABLE)
    assert isinstance(table, Table)
    refusal: TableFormatError | None = None
    try:
        action(catalog, table)
    except TableFormatError as error:
        refusal = error
    if refusal is not None:
        after = everything(catalog.io)
        changed = [path for path in {*before, *after} if before.get(path) != after.get(path)]
        assert not changed, f"refused ({refusal}), and changed {changed[:5]}"
        return type(refusal).__name__
    for found in _tables(catalog):
        _check_that_it_works(catalog, found)
    return "accepted"


def _tables(catalog: FileSystemCatalog) -> Iterator[str]:
    for database in catalog.list_databases():
        for name in catalog.list_tables(database):
            yield f"{database}.{name}"


def _check_that_it_works(catalog: FileSystemCatalog, name: str) -> None:
    """Open, read, write, compact, expire: whatever decodes a file of the table does it here."""
    table = catalog.load_table(name)
    assert isinstance(table, Table)
    table.snapshots(), table.tags(), table.consumers()
    for branch in table.branches():
        catalog.load_table(f"{name}$branch_{branch}").scan().to_arrow()
    rows = table.scan().to_arrow()
    catalog.load_table(f"{name}$statistics").scan().to_arrow()
    if rows.schema.names == KEYED.names:
        rows = ROWS.cast(pa.schema([f.with_nullable(True) for f in rows.schema]))
    try:
        table.append(rows)
        table.compact(full=True)
    except (BucketCountChanged, UnsupportedFeature):
        # A rescaled table is written once its option says the new number; some types are only read.
        assert table.scan().to_arrow().num_rows == rows.num_rows or rows.schema.names == KEYED.names
    table.expire_snapshots(retain_floor_ms=0, older_than_ms=2**62, retain_min=1)
    table.remove_orphan_files(older_than_ms=2**62, nobody_else_writes=True)
    catalog.load_table(name).scan().to_arrow()
