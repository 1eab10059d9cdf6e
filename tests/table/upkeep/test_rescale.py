"""Other numbers of buckets: rescaling changes where rows lie, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_format import Table
from table_format.errors import (
    BucketCountChanged,
    ConflictError,
    FileConflict,
    InvalidInputError,
    InvalidOption,
    UnsupportedFeature,
)
from table_format.model.commit import CommitMessage
from table_format.model.schema_change import SetOption
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.table.facts import TableFacts
from table_format.table.upkeep.compaction_report import CompactionReport
from table_format.table.upkeep.rescale import PartitionRescale, rescale, rescale_with_option, rescale_work
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

PARTITIONED = {"primary_keys": ["id", "dt"], "partition_keys": ["dt"]}


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def counts(table: Table) -> dict[str, set[tuple[int, int]]]:
    """Buckets in use and their number, by partition, as the manifests of the latest snapshot say."""
    found: dict[str, set[tuple[int, int]]] = {}
    for split in table.scan().plan().splits:
        text = table.facts.partitions.text(split.partition)
        found.setdefault(text, set()).add((split.bucket, split.total_buckets))
    return found


def totals(table: Table) -> dict[str, set[int]]:
    return {partition: {total for _, total in found} for partition, found in counts(table).items()}


def altered(warehouse: Warehouse, buckets: int, name: str = "t") -> Table:
    table = warehouse.catalog.alter_table(f"db.{name}", SetOption("bucket", str(buckets)))
    assert isinstance(table, Table)
    return table


def test_after_an_alter_a_write_is_refused_until_the_rescale_job_has_run(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1"})
    table.append(keyed([(i, "a", i) for i in range(10)]))
    table = altered(warehouse, 4)
    message = r"^db\.t was written with 1 bucket, and the table now has 4; overwrite the table, or rescale it by "
    with pytest.raises(BucketCountChanged, match=message + r"table\.rescale"):
        table.append(keyed([(3, "new", 3)]))
    [snapshot] = table.rescale()
    assert snapshot.commit_kind is CommitKind.OVERWRITE
    assert rows_of(table) == [(i, "a", i) for i in range(10)]
    assert counts(table) == {"": {(bucket, 4) for bucket in range(4)}}
    table.append(keyed([(3, "new", 3)]))
    assert rows_of(table, filter="id = 3") == [(3, "new", 3)]
    assert len(rows_of(table)) == 10
    assert table.rescale() == ()


def test_after_a_rollback_over_a_rescale_all_but_writes_work_and_the_error_says_how_to_write_again(
    warehouse: Warehouse,
) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "2"})
    table.append(keyed([(i, "a", i) for i in range(10)]))
    stream = table.stream()
    assert stream.next_plan() is not None
    table.rescale(4)
    table.rollback_to(1)
    table = warehouse.reopened(table)
    with pytest.raises(BucketCountChanged, match=r"After a rollback .* set the option 'bucket' to 2 again$"):
        table.append(keyed([(3, "new", 3)]))
    table.compact(full=True)
    table.analyze()
    assert stream.next_plan() is None
    table.expire_snapshots(retain_min=1, retain_max=1, retain_floor_ms=0)
    assert table.verify(depth="rows").is_healthy
    altered(warehouse, 2).append(keyed([(3, "new", 3)]))
    plan = stream.next_plan()
    assert plan is not None
    assert stream.to_arrow(plan).to_pylist() == [{"rowkind": "+I", "id": 3, "dt": "new", "v": 3}]
    table.rescale(4)
    warehouse.reopened(table).append(keyed([(4, "new", 4)]))
    assert len(rows_of(table)) == 10


def test_the_refusal_names_the_partition(warehouse: Warehouse) -> None:
    table = warehouse.table(**PARTITIONED, options={"bucket": "1"})
    table.append(keyed([(1, "a", 1)]))
    table = altered(warehouse, 4)
    with pytest.raises(BucketCountChanged, match=r"partition \{dt='a'\} of db\.t was written with 1 bucket, "):
        table.append(keyed([(2, "a", 1)]))
    with pytest.raises(BucketCountChanged, match=r"dt='a'"):
        table.delete("id = 1")


def test_partitions_with_different_numbers_live_side_by_side(warehouse: Warehouse) -> None:
    options = {"bucket": "1", "changelog-producer": "lookup", "deletion-vectors.enabled": "true"}
    table = warehouse.table(**PARTITIONED, options=options)
    table.append(keyed([(i, dt, i) for i in range(20) for dt in "abc"]))
    table = altered(warehouse, 4)
    [_] = table.rescale(partitions=[{"dt": "a"}])
    table.overwrite(keyed([(i, "b", i) for i in range(20)]), partition={"dt": "b"})
    assert totals(table) == {"dt=a": {4}, "dt=b": {4}, "dt=c": {1}}
    table.append(keyed([(i, dt, -i) for i in range(0, 20, 2) for dt in "abd"]))
    with pytest.raises(BucketCountChanged, match=r"dt='c'"):
        table.append(keyed([(1, "c", 1)]))
    table.delete("id = 1 AND dt = 'a'")
    table.compact(full=True)
    assert totals(table) == {"dt=a": {4}, "dt=b": {4}, "dt=c": {1}, "dt=d": {4}}
    expected = {(i, dt): i for i in range(20) for dt in "abc"}
    expected |= {(i, dt): -i for i in range(0, 20, 2) for dt in "abd"}
    del expected[1, "a"]
    assert rows_of(table) == sorted(((*key, v) for key, v in expected.items()), key=repr)
    for key in (0, 1, 7, 18):
        scan = table.scan(filter=f"id = {key}")
        assert sorted(scan.to_arrow()["dt"].to_pylist()) == sorted(dt for i, dt in expected if i == key)
        plan = scan.plan()
        assert plan.counts.files_dropped_by_bucket >= 6
        assert len({(split.partition, split.bucket) for split in plan.splits}) <= 4


def test_only_the_partitions_asked_for_are_rescaled_and_to_any_number(warehouse: Warehouse) -> None:
    table = warehouse.table(**PARTITIONED, options={"bucket": "4"})
    table.append(keyed([(i, dt, i) for i in range(12) for dt in "ab"]))
    before = rows_of(table)
    table.rescale(3, partitions=[{"dt": "a"}])
    assert totals(table) == {"dt=a": {3}, "dt=b": {4}}
    table.rescale(3)
    assert totals(table) == {"dt=a": {3}, "dt=b": {3}}
    assert rows_of(table) == before
    # The last one only has the schema with the new number.
    assert [s.commit_kind.value for s in table.snapshots()] == ["APPEND", "OVERWRITE", "OVERWRITE", "OVERWRITE"]
    assert [s.schema_id for s in table.snapshots()] == [0, 0, 0, 1]


def test_what_waits_on_level_0_of_a_table_that_skips_it_is_not_lost(warehouse: Warehouse) -> None:
    options = {"bucket": "1", "deletion-vectors.enabled": "true", "write-only": "true"}
    table = warehouse.table(primary_keys=["id"], options=options)
    table.append(keyed([(i, "a", i) for i in range(10)]))
    assert rows_of(table) == []
    table.rescale(2)
    assert rows_of(table) == [(i, "a", i) for i in range(10)]


@pytest.mark.parametrize(("function", "result"), [("count", 3), ("sum", 12), ("product", 60), ("collect", [3, 4, 5])])
def test_what_was_aggregated_is_not_aggregated_again(warehouse: Warehouse, function: str, result: object) -> None:
    value = pa.list_(pa.int64()) if function == "collect" else pa.int64()
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", value)])
    options = {"bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": function}
    table = warehouse.table(schema=schema, primary_keys=["id"], options=options)
    for v in (3, 4, 5):
        values = pa.array([[v] if function == "collect" else v] * 2, value)
        table.append(pa.table({"id": pa.array([1, 2]), "v": values}))
    table.rescale(2)
    assert rows_of(table) == [(1, result), (2, result)]
    table.rescale(1)
    table.append(pa.table({"id": pa.array([1]), "v": pa.array([[1] if function == "collect" else 1], value)}))
    expected = {"count": 4, "sum": 13, "product": 60, "collect": [3, 4, 5, 1]}[function]
    assert rows_of(table, filter="id = 1") == [(1, expected)]


def test_rows_of_a_bucketed_append_table_keep_their_order(warehouse: Warehouse) -> None:
    options = {"bucket": "2", "bucket-key": "id", "deletion-vectors.enabled": "true"}
    table = warehouse.table(options=options)
    for turn in range(3):
        table.append(keyed([(i % 10, f"{turn}", i) for i in range(40)]))
    table.delete("v = 7")
    before = rows_of(table)
    table.rescale(6)
    assert rows_of(table) == before
    for key in range(10):
        found = table.scan(filter=f"id = {key}").to_arrow()
        assert found["dt"].to_pylist() == sorted(found["dt"].to_pylist())
    table = altered(warehouse, 6)
    table.append(keyed([(1, "9", 99)]))
    assert table.scan(filter="id = 1").to_arrow()["v"].to_pylist()[-1] == 99


@pytest.mark.parametrize("change", ["append", "compact", "overwrite", "delete"])
def test_what_others_commit_meanwhile_is_a_conflict_and_not_lost(warehouse: Warehouse, change: str) -> None:
    table = warehouse.table(**PARTITIONED, options={"bucket": "2", "write-only": "true"})
    for _ in range(2):
        table.append(keyed([(i, dt, i) for i in range(10) for dt in "ab"]))
    other = warehouse.reopened(table)
    after: list[tuple[Any, ...]] = []

    def perform(pieces: Sequence[PartitionRescale]) -> Iterable[CommitMessage]:
        for work in pieces:
            yield from rescale_work(table.facts, work)
        match change:
            case "append":
                other.append(keyed([(77, "a", 77)]))
            case "compact":
                other.compact(full=True)
            case "overwrite":
                other.overwrite(keyed([(5, "a", 5)]))
            case "delete":
                other.delete("id = 3 AND dt = 'a'")
        after.extend(rows_of(other))

    files = set(warehouse.files(table))
    with pytest.raises(FileConflict, match=r"after snapshot 2; nothing was rewritten"):
        rescale(table.facts, 4, partitions=[{"dt": "a"}], perform=perform)
    assert rows_of(table) == after
    left = {f for f in set(warehouse.files(table)) - files if "/data-" in f}
    named = {e.file.file_name for s in table.snapshots() for e in table.facts.manifests.delta_entries(s)}
    assert {f.rpartition("/")[2] for f in left} <= named
    # What happens elsewhere is no conflict.
    rescale(table.facts, 4, partitions=[{"dt": "a"}], perform=_while_others_write(table, other, "b"))
    assert rows_of(table, filter="dt = 'a'") == [row for row in after if row[1] == "a"]
    assert (88, "b", 88) in rows_of(table)


def _while_others_write(table: Table, other: Table, dt: str) -> Any:
    def perform(pieces: Sequence[PartitionRescale]) -> Iterable[CommitMessage]:
        other.append(keyed([(88, dt, 88)]))
        for work in pieces:
            yield from rescale_work(table.facts, work)

    return perform


def test_a_partition_whose_rows_are_all_deleted_is_gone_afterwards(warehouse: Warehouse) -> None:
    table = warehouse.table(**PARTITIONED, options={"bucket": "2", "write-only": "true"})
    table.append(keyed([(i, dt, i) for i in range(5) for dt in "ab"]))
    table.delete("dt = 'a'")
    [snapshot, _] = table.rescale(3)
    assert rows_of(table) == [(i, "b", i) for i in range(5)]
    assert totals(table) == {"dt=b": {3}}
    assert snapshot.total_record_count == 5


def test_a_rescale_is_no_change_of_rows_to_those_who_ask_for_changes(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "2", "changelog-producer": "full-compaction"})
    table.append(keyed([(i, "a", i) for i in range(10)]))
    table.compact(full=True)
    stream = table.stream()
    assert (plan := stream.next_plan()) is not None
    assert stream.to_arrow(plan).num_rows == 10
    before = table.latest_snapshot()
    assert before is not None
    table = altered(warehouse, 3)
    [rescaled] = table.rescale()
    table.append(keyed([(3, "new", 3)]))
    table.compact(full=True)
    last = table.latest_snapshot()
    assert last is not None
    seen = [row for plan in iter(stream.next_plan, None) for row in stream.to_arrow(plan).to_pylist()]
    assert [(row["rowkind"], row["id"], row["dt"]) for row in seen] == [("-U", 3, "a"), ("+U", 3, "new")]
    options = {"incremental-between": f"{rescaled.id},{last.id}", "incremental-between-scan-mode": "diff"}
    assert table.scan(options=options).to_arrow()["id"].to_pylist() == [3]
    options = {"incremental-between": f"{before.id},{rescaled.id}"}
    assert table.scan(options=options).to_arrow().num_rows == 0
    with pytest.raises(UnsupportedFeature, match="difference between states of other bucket counts"):
        table.scan(options={**options, "incremental-between-scan-mode": "diff"}).to_arrow()


def test_a_writer_that_began_before_the_rescale_is_refused(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "2"})
    table.append(keyed([(i, "a", i) for i in range(10)]))
    messages = table.new_write().write(keyed([(3, "late", 3)]))
    table.rescale(4)
    commit = table.new_commit()
    with pytest.raises(ConflictError, match=r"option 'bucket' changed from '2' to '4'"):
        commit.commit(messages)
    commit.abort(messages)
    assert (3, "a", 3) in rows_of(table)


def test_a_writer_that_began_before_the_rescale_of_its_partition_is_refused(warehouse: Warehouse) -> None:
    table = warehouse.table(**PARTITIONED, options={"bucket": "2"})
    table.append(keyed([(i, "a", i) for i in range(10)]))
    messages = table.new_write().write(keyed([(3, "a", -3)]))
    table.rescale(4, partitions=[{"dt": "a"}])
    commit = table.new_commit()
    with pytest.raises(ConflictError, match=r"new bucket num 2, but the previous bucket num is 4"):
        commit.commit(messages)
    commit.abort(messages)
    assert (3, "a", 3) in rows_of(table)


def test_a_rescale_of_the_whole_table_changes_the_option_so_that_the_next_write_succeeds(warehouse: Warehouse) -> None:
    table = warehouse.table(**PARTITIONED, options={"bucket": "2"})
    held = warehouse.reopened(table)
    table.append(keyed([(i, dt, i) for i in range(10) for dt in "ab"]))
    table.rescale(3)
    held.append(keyed([(3, "a", -3), (1, "c", 1)]))
    assert warehouse.reopened(table).options.bucket.count == 3
    assert totals(table) == {"dt=a": {3}, "dt=b": {3}, "dt=c": {3}}
    assert (3, "a", -3) in rows_of(table)
    assert table.rescale(3) == ()
    assert len(table.facts.schema_store.ids()) == 2


def test_a_rescale_of_single_partitions_leaves_the_option(warehouse: Warehouse) -> None:
    table = warehouse.table(**PARTITIONED, options={"bucket": "2"})
    table.append(keyed([(1, "a", 1)]))
    table.rescale(3, partitions=[{"dt": "a"}])
    assert warehouse.reopened(table).options.bucket.count == 2
    with pytest.raises(BucketCountChanged):
        table.append(keyed([(1, "a", 2)]))


def test_a_table_without_rows_gets_the_number_of_buckets_too(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "2"})
    assert table.rescale(5) == ()
    table.append(keyed([(1, "a", 1)]))
    assert totals(table) == {"": {5}}


def test_a_rescale_that_died_before_the_option_changed_is_repaired_by_its_repetition(warehouse: Warehouse) -> None:
    table = warehouse.table(**PARTITIONED, options={"bucket": "2"})
    table.append(keyed([(i, dt, i) for i in range(10) for dt in "ab"]))
    rescale(table.facts, 3)  # all that had happened by then
    with pytest.raises(BucketCountChanged):
        table.append(keyed([(3, "a", -3)]))
    (last,) = table.rescale(3)
    assert (last.schema_id, last.delta_record_count) == (1, 0)
    table.append(keyed([(3, "a", -3)]))
    assert (3, "a", -3) in rows_of(table)


def test_a_branch_that_begins_with_the_rescaled_table_can_be_written_and_published(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1"})
    table.append(keyed([(1, "a", 1)]))
    table.rescale(2)
    table.create_tag("rescaled")
    table.create_branch("dev", tag="rescaled")
    dev = warehouse.catalog.load_table(f"{table.identifier}$branch_dev")
    assert isinstance(dev, Table)
    dev.append(keyed([(2, "a", 2)]))
    table.fast_forward("dev")
    published = warehouse.reopened(table)
    published.append(keyed([(3, "a", 3)]))
    assert [row[0] for row in rows_of(published)] == [1, 2, 3]
    assert totals(published) == {"": {2}}


def test_a_partition_that_a_writer_adds_before_the_option_changes_is_rescaled_too(warehouse: Warehouse) -> None:
    table = warehouse.table(**PARTITIONED, options={"bucket": "2"})
    table.append(keyed([(1, "a", 1)]))
    other = warehouse.reopened(table)
    rounds: list[int] = []

    def once(facts: TableFacts) -> tuple[Snapshot, ...]:
        made = rescale(facts, 3)
        if not rounds:
            other.append(keyed([(2, "new", 2)]))
        rounds.append(len(made))
        return made

    made = rescale_with_option(table, 3, None, once)
    assert (rounds, [s.id for s in made]) == ([1, 1], [2, 4])
    assert totals(table) == {"dt=a": {3}, "dt=new": {3}}
    other.append(keyed([(3, "new", 3)]))
    assert rows_of(table) == [(1, "a", 1), (2, "new", 2), (3, "new", 3)]


def test_a_failure_leaves_no_file(warehouse: Warehouse) -> None:
    table = warehouse.table(**PARTITIONED, options={"bucket": "2"})
    table.append(keyed([(i, dt, i) for i in range(10) for dt in "ab"]))
    files = warehouse.files(table)

    def perform(pieces: Sequence[PartitionRescale]) -> Iterable[CommitMessage]:
        yield from rescale_work(table.facts, pieces[0])
        raise InvalidInputError("enough")

    with pytest.raises(InvalidInputError, match="enough"):
        rescale(table.facts, 4, perform=perform)
    assert warehouse.files(table) == files


def test_each_share_of_the_work_reads_only_what_it_may_write(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "4"})
    table.append(keyed([(i, "a", i) for i in range(100)]))
    seen: list[PartitionRescale] = []

    def perform(pieces: Sequence[PartitionRescale]) -> Iterable[CommitMessage]:
        seen.extend(pieces)
        for work in pieces:
            yield from rescale_work(table.facts, work)

    rescale(table.facts, 6, perform=perform, shares=2)
    assert [sorted(work.wanted) for work in seen] == [[0, 4], [2], [1, 5], [3]]
    assert all(split.bucket % 2 == min(work.wanted) % 2 for work in seen for split in work.splits)
    assert rows_of(table) == sorted(((i, "a", i) for i in range(100)), key=repr)


def test_tables_whose_buckets_come_by_themselves_are_not_rescaled(warehouse: Warehouse) -> None:
    dynamic = warehouse.table("d", primary_keys=["id"], options={"bucket": "-1"})
    unaware = warehouse.table("u")
    postponed = warehouse.table("p", primary_keys=["id"], options={"bucket": "-2"})
    for table in (dynamic, unaware):
        with pytest.raises(UnsupportedFeature, match="has 'bucket' = '-1'"):
            table.rescale(4)
    with pytest.raises(InvalidInputError, match="say the number of buckets"):
        postponed.rescale()
    with pytest.raises(InvalidInputError, match="0 is not a number of buckets"):
        postponed.rescale(0)
    assert postponed.rescale(4) == ()


def test_the_number_of_buckets_does_not_change_for_one_call(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "2"})
    with pytest.raises(InvalidOption, match="'bucket': may not change for one call; alter the table"):
        table.copy({"bucket": "4"})
    assert table.copy({"bucket": "2"}).options.bucket.count == 2
    with pytest.raises(InvalidOption, match="may change only between positive numbers"):
        warehouse.catalog.alter_table("db.t", SetOption("bucket", "-2"))


# --- a law: rescaled at any time, a table shows what one shows that never was -----------------------------------------

ROWS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from("ab"), st.none() | st.integers(0, 5)), min_size=1, max_size=8
)
KINDS = st.lists(st.sampled_from(["+I", "+U", "-D"]), min_size=8, max_size=8)
STEP = st.one_of(
    st.tuples(st.just("write"), ROWS, KINDS),
    st.tuples(st.just("write"), ROWS, KINDS),
    st.tuples(st.just("compact"), st.booleans()),
    st.tuples(st.just("rescale"), st.integers(1, 7), st.sampled_from([None, "a", "b"])),
)
ENGINES = (
    {},
    {"sequence.field": "v"},
    {"deletion-vectors.enabled": "true"},
    {"changelog-producer": "full-compaction"},
    {"merge-engine": "aggregation", "fields.v.aggregate-function": "count"},
    {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    {"merge-engine": "partial-update", "ignore-delete": "true"},
    {"merge-engine": "first-row", "ignore-delete": "true"},
)


@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEP, min_size=2, max_size=9), st.sampled_from(ENGINES), st.booleans())
def test_rescaling_changes_no_row(history: list[tuple[Any, ...]], engine: dict[str, str], write_only: bool) -> None:
    warehouse = memory_warehouse()
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("dt", pa.string()), ("v", pa.int64())])
    # Elsewhere it matters when a row that takes back meets what it takes back.
    retracts = not engine.keys() & {"merge-engine", "sequence.field"}
    options = {"num-sorted-run.compaction-trigger": "3", "write-only": str(write_only).lower(), **engine}
    tables = {n: warehouse.table(n, schema, **PARTITIONED, options=options) for n in ("rescaled", "plain")}
    for step in history:
        match step:
            case ("write", rows, kinds):
                batch = keyed(rows, _row_kind=pa.array(kinds[: len(rows)] if retracts else ["+I"] * len(rows)))
                batch = batch.set_column(2, schema.field("v"), batch["v"].cast(pa.int64()))
                for table in tables.values():
                    table.append(batch)
            case ("compact", full):
                for table in tables.values():
                    table.compact(full=full)
            case ("rescale", buckets, None):
                tables["rescaled"] = altered(warehouse, buckets, "rescaled")
                tables["rescaled"].rescale()
                tables["plain"].compact(full=True)
            case ("rescale", buckets, dt):
                before = totals(tables["rescaled"])
                tables["rescaled"].rescale(buckets, partitions=[{"dt": dt}])
                after = totals(tables["rescaled"])
                assert after.get(f"dt={dt}", {buckets}) == {buckets}
                assert {p: t for p, t in after.items() if p != f"dt={dt}"} == {
                    p: t for p, t in before.items() if p != f"dt={dt}"
                }
                # Writers take the number of the table: back to it.
                tables["rescaled"].rescale()
                tables["plain"].compact(full=True)
    for table in tables.values():
        table.compact(full=True)
    assert rows_of(tables["rescaled"]) == rows_of(tables["plain"])
    for key in range(10):
        assert rows_of(tables["rescaled"], filter=f"id = {key}") == rows_of(tables["plain"], filter=f"id = {key}")


@pytest.mark.parametrize("is_altered", [False, True], ids=["number given", "option altered"])
@pytest.mark.parametrize(
    "options",
    [
        {"changelog-producer": "lookup"},
        {"changelog-producer": "lookup", "merge-engine": "first-row"},
        {"changelog-producer": "lookup", "deletion-vectors.enabled": "true"},
        {"changelog-producer": "full-compaction"},
    ],
    ids=lambda options: ", ".join(options.values()),
)
def test_changes_that_no_compaction_has_shown_to_streams_are_shown_before(
    warehouse: Warehouse, options: dict[str, str], is_altered: bool
) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "2", "write-only": "true", **options})
    table.append(keyed([(i, "a", i) for i in range(5)]))
    table.compact(full=True)
    stream = table.stream()
    rows = list(stream.to_arrow(stream.next_plan())["id"])
    table.append(keyed([(i, "b", i) for i in range(5, 9)]))
    made = altered(warehouse, 3).rescale() if is_altered else table.rescale(3)
    assert [snapshot.commit_kind for snapshot in made[:2]] == [CommitKind.COMPACT, CommitKind.OVERWRITE]
    while (plan := stream.next_plan()) is not None:
        rows += list(stream.to_arrow(plan)["id"])
    assert sorted(row.as_py() for row in rows) == list(range(9))
    assert len(rows_of(warehouse.reopened(table))) == 9


def test_a_rescale_beside_rows_that_keep_coming_before_each_compaction_is_a_conflict(warehouse: Warehouse) -> None:
    options = {"bucket": "2", "write-only": "true", "changelog-producer": "lookup"}
    table = warehouse.table(primary_keys=["id"], options=options)
    table.append(keyed([(1, "a", 1)]))

    def compaction() -> CompactionReport:
        done = table.run_compaction(full=True)
        table.append(keyed([(1, "b", 1)]))
        return done

    with pytest.raises(ConflictError, match=r"db\.t: other writers keep writing rows that no compaction has shown"):
        rescale(table.facts, 3, compaction=compaction)
    assert rows_of(table) == [(1, "b", 1)]
