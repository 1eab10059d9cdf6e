"""A table is dropped, or created again, before each call of every operation on it: the error says that it is gone.

Files, snapshots and tags are then missing, and what is there may belong to another table. None of this is reported as
damage, as a wrong name or as a failure of the store. Of the calls, some are tried; ``make matrix`` tries all.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from table_format import Insert, Schema, Table, Update
from table_format.errors import ConflictError, NotFoundError, TableNotFound, TableReplaced
from table_format.io.memory import MemoryFileIO
from table_format.procedures.operations import InProcess
from table_format.procedures.run import run_procedure
from table_format.table.system.registry import SYSTEM_TABLES, open_system_table
from tests.simulation.test_every_call import FUTURE, SCHEMA, copy_of, rows
from tests.simulation.test_every_call_of_history import catalog_on, opened
from tests.support.acting_io import ActingIO
from tests.support.matrix import tries

STEP = tries(9, many=1)
EXPIRY = {"retain_min": 1, "retain_max": 1, "older_than_ms": FUTURE}
KINDS: dict[str, tuple[list[str], dict[str, str]]] = {
    "keyed": (["k", "p"], {"bucket": "2", "num-sorted-run.compaction-trigger": "10"}),
    "append": ([], {"bucket": "-1", "file-index.bloom-filter.columns": "v"}),
}


def follow(table: Table) -> None:
    stream = table.stream(options={"consumer-id": "x"})
    while (plan := stream.next_plan()) is not None:
        stream.to_arrow(plan)
        stream.acknowledge()


def write_and_commit(table: Table) -> None:
    messages = table.new_write("u").write(rows((9, "a", 9)))
    table.new_commit("u").commit(messages, identifier=1)


OPERATIONS: dict[str, Callable[[Table], object]] = {
    "append": lambda t: t.append(rows((9, "a", 9))),
    "overwrite": lambda t: t.overwrite(rows((9, "a", 9))),
    "truncate": lambda t: t.truncate(),
    "drop_partitions": lambda t: t.drop_partitions([{"p": "a"}]),
    "delete": lambda t: t.delete("k = 1"),
    "update": lambda t: t.update({"v": "v + 1"}, "k > 1"),
    "merge": lambda t: t.merge(
        rows((1, "a", 1), (99, "b", 1)),
        on=["k", "p"],
        when_matched=Update({"v": "source.v"}),
        when_not_matched=Insert(),
    ),
    "new_write, new_commit": write_and_commit,
    "compact": lambda t: t.compact(full=True),
    "run_compaction": lambda t: t.run_compaction(full=True),
    "rescale": lambda t: t.rescale(3),
    "rewrite_file_index": lambda t: t.rewrite_file_index(),
    "analyze": lambda t: t.analyze(),
    "expire_snapshots": lambda t: t.expire_snapshots(**EXPIRY, retain_floor_ms=0),
    "expire_changelogs": lambda t: t.expire_changelogs(everything=True),
    "expire_partitions": lambda t: t.expire_partitions(expiration_time_ms=1, strategy="update-time"),
    "expire_tags": lambda t: t.expire_tags(older_than_ms=FUTURE),
    "remove_orphan_files": lambda t: t.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True),
    "due_upkeep": lambda t: t.due_upkeep(),
    "mark_partitions_done": lambda t: t.mark_partitions_done([{"p": "a"}]),
    "verify": lambda t: t.verify(depth="rows"),
    "tags": lambda t: t.tags(),
    "branches": lambda t: t.branches(),
    "consumers": lambda t: t.consumers(),
    "snapshots": lambda t: t.snapshots(),
    "latest_snapshot": lambda t: t.latest_snapshot(),
    "create_tag": lambda t: t.create_tag("x"),
    "replace_tag": lambda t: t.replace_tag("base"),
    "rename_tag": lambda t: t.rename_tag("base", "y"),
    "delete_tag": lambda t: t.delete_tag("base"),
    "create_automatic_tags": lambda t: t.copy({"tag.automatic-creation": "batch"}).create_automatic_tags(),
    "create_branch": lambda t: t.create_branch("n", tag="base"),
    "rename_branch": lambda t: t.rename_branch("b", "n"),
    "delete_branch": lambda t: t.delete_branch("b"),
    "fast_forward": lambda t: t.fast_forward("b"),
    "rollback_to": lambda t: t.rollback_to("base"),
    "rollback_to_timestamp": lambda t: t.rollback_to_timestamp(FUTURE),
    "rollback_before": lambda t: t.rollback_before(commit_user="job", including_others=True),
    "plan_rollback": lambda t: t.plan_rollback(1),
    "plan_rollback_to_timestamp": lambda t: t.plan_rollback_to_timestamp(FUTURE),
    "plan_rollback_before": lambda t: t.plan_rollback_before(commit_user="job"),
    "reset_consumer": lambda t: t.reset_consumer("c", 1),
    "delete_consumer": lambda t: t.delete_consumer("c"),
    "scan": lambda t: t.scan(order_by="v desc", limit=2).to_arrow(),
    "scan of a tag": lambda t: t.scan(options={"scan.tag-name": "base"}).to_arrow(),
    "scan of changes": lambda t: t.scan(options={"incremental-between": "1,3"}).to_arrow(),
    "stream": follow,
    "current": lambda t: t.current(),
    **{
        f"${name}": lambda t, name=name: open_system_table(t, name).scan().to_arrow()
        for name in SYSTEM_TABLES
        if name != "row_tracking"  # only for tables with that option
    },
}
UNTOUCHED = {"arrow_schema", "copy", "current_facts", "facts", "for_reader", "location", "options"}
"""What reads nothing, or is a part of everything else."""

PROCEDURES: dict[str, dict[str, str]] = {
    "compact": {},
    "rollback": {"version": "2"},
    "create_tag": {"tag": "x"},
    "rescale": {"bucket_num": "3"},
    "remove_orphan_files": {},
    "expire_snapshots": {},
    "fast_forward": {"branch": "b"},
    "clear_consumers": {},
}


def prepared(kind: str) -> MemoryFileIO:
    memory = MemoryFileIO()
    catalog_on(memory).create_database("db")
    table = created(memory, kind)
    table.append(rows((1, "a", 10), (2, "a", 20), (3, "b", 30)))
    table.append(rows((1, "a", 11), (4, "b", 40)), commit_user="job", identifier=1)
    table.create_tag("base")
    table.create_branch("b", tag="base")
    opened(memory, "db.t$branch_b").append(rows((11, "a", 1)))
    table.append(rows((5, "b", 50), (1, "a", 12)))
    table.reset_consumer("c", 2)
    return memory


def created(memory: MemoryFileIO, kind: str, **options: str) -> Table:
    keys, own = KINDS[kind]
    schema = Schema.from_arrow(SCHEMA, keys, ["p"], options={**own, **options})
    table = catalog_on(memory).create_table("db.t", schema)
    assert isinstance(table, Table)
    return table


def drop(memory: MemoryFileIO, kind: str) -> None:
    catalog_on(memory).drop_table("db.t")


def create_again(memory: MemoryFileIO, kind: str) -> None:
    drop(memory, kind)
    created(memory, kind, **{"target-file-size": "77 mb"}).append(rows((7, "a", 7)))


ACTS = pytest.mark.parametrize("act", [drop, create_again], ids=["dropped", "created again"])


def sweep(
    kind: str,
    begin: Callable[[Any], Callable[[], object]],
    act: Callable[[MemoryFileIO, str], None],
    *errors: type[Exception],
    first: int,
) -> None:
    """Act before each call of what ``begin`` returns, which may raise these errors."""
    start = prepared(kind)
    for number in range(first % STEP, 10_000, STEP):
        memory = copy_of(start)
        store = ActingIO(memory, number, partial(act, memory, kind))
        operation = begin(store)
        store.watch()
        with suppress(*errors):
            operation()
        if store.calls <= number:
            break


def test_every_operation_is_tried() -> None:
    tried = {word.strip(",") for name in OPERATIONS for word in name.split()}
    public = {name for name in dir(Table) if not name.startswith("_")}
    assert public - UNTOUCHED - tried == set()


@ACTS
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_on_a_table_that_goes_meanwhile_says_so(
    name: str, kind: str, act: Callable[[MemoryFileIO, str], None]
) -> None:
    if name == "rescale" and kind == "append":
        pytest.skip("an append table has no buckets to rescale")

    def begin(store: Any) -> Callable[[], object]:
        return partial(OPERATIONS[name], opened(store))

    sweep(kind, begin, act, TableNotFound, TableReplaced, first=list(OPERATIONS).index(name))


@ACTS
@pytest.mark.parametrize("name", PROCEDURES)
def test_a_procedure_on_a_table_that_goes_meanwhile_finds_no_damage(
    name: str, act: Callable[[MemoryFileIO, str], None]
) -> None:
    def begin(store: Any) -> Callable[[], object]:
        arguments = {"table": "db.t", **PROCEDURES[name]}
        return partial(run_procedure, InProcess(catalog_on(store)), name, arguments)

    # The table that has the name by then may lack what the arguments name.
    sweep("keyed", begin, act, NotFoundError, ConflictError, first=list(PROCEDURES).index(name))
