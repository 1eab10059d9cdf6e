"""Whether the rows of a materialized table are current or stale, as far as metadata tells; no engine runs a query."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import pyarrow as pa
import pytest

from table_format import (
    AddColumn,
    Catalog,
    MaterializedTable,
    Schema,
    SetOption,
    Table,
    load_catalog,
    materialized_table,
)
from table_format import materialized_tables as tables_of
from table_format.errors import InvalidInputError
from table_format.io.memory import MemoryFileIO
from table_format.materialized.table import circle_through
from table_format.table.write.batch_commit import BatchCommit
from table_format.table.write.table_write import TableWrite
from table_format.types import IntType
from tests.simulation.failing_io import Crash, Mode, OneFailure
from tests.support.materialized_tables import KEY, a_materialized_table, refreshed

COLUMNS = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])
QUERY = "SELECT * FROM s.t"


def rows(*keys: int) -> pa.Table:
    return pa.table({"k": list(keys), "v": [str(key) for key in keys]}, COLUMNS)


def a_catalog(store: MemoryFileIO, options: Mapping[str, str] | None = None, keys: tuple[str, ...] = ()) -> Catalog:
    """A catalog with the source ``s.t``, which has a row, and the table ``s.m``, which was refreshed at second 1."""
    catalog = load_catalog({"warehouse": "/w"}, file_io=store)
    catalog.create_database("s")
    catalog.create_table("s.t", Schema.from_arrow(COLUMNS, keys, options=options or {})).append(rows(1))
    a_materialized_table(catalog, "s.m", QUERY, COLUMNS)
    refreshed(catalog, "s.m", rows(1), at_ms=1_000)
    return catalog


@pytest.fixture
def catalog() -> Catalog:
    return a_catalog(MemoryFileIO())


def loaded(catalog: Catalog) -> MaterializedTable:
    return materialized_table(catalog, "s.m")


def table(catalog: Catalog, name: str) -> Table:
    return catalog.load_table(f"s.{name}")


def test_a_table_is_stale_when_a_source_has_changed_and_the_refresh_is_older_than_the_freshness(
    catalog: Catalog,
) -> None:
    assert (loaded(catalog).is_current, loaded(catalog).is_stale(9_000_000)) == (True, False)
    table(catalog, "t").append(rows(2))
    found = loaded(catalog)
    assert (found.is_current, found.changed_sources) == (False, ("s.t",))
    assert [found.is_stale(ms) for ms in (30_000, 31_000, 31_001, 32_000)] == [False, False, True, True]
    assert str(found.age(31_500)) == "0:00:30.500000"


def test_a_circle_of_materialized_tables_is_found(catalog: Catalog) -> None:
    a_materialized_table(catalog, "s.n", "SELECT k, v FROM s.m JOIN s.t USING (k)", COLUMNS)
    assert circle_through(catalog, "s.t", ("s.n",)) == ("s.n", "s.t")
    assert circle_through(catalog, "s.m", ("s.t", "s.n")) == ("s.n", "s.m")
    assert circle_through(catalog, "s.n", ("s.n",)) == ("s.n",)
    assert circle_through(catalog, "s.other", ("s.n", "s.m", "s.gone")) == ()
    a_materialized_table(catalog, "s.o", "SELECT * FROM s.o", COLUMNS)
    assert circle_through(catalog, "s.other", ("s.o",)) == ()


def test_a_rollback_or_another_table_of_the_name_is_a_change_and_the_earlier_state_is_none(catalog: Catalog) -> None:
    source = table(catalog, "t")
    source.append(rows(2))
    source.rollback_to(1)
    assert loaded(catalog).is_current
    source.append(rows(3))
    refreshed(catalog, "s.m", rows(1, 3), at_ms=2_000)
    source.rollback_to(1)
    assert not loaded(catalog).is_current
    table(catalog, "m").rollback_to(1)
    assert loaded(catalog).is_current
    catalog.drop_table("s.t")
    assert loaded(catalog).changed_sources == ("s.t",)
    catalog.create_table("s.t", Schema.from_arrow(COLUMNS)).append(rows(1))
    assert loaded(catalog).changed_sources == ("s.t",)


def test_a_table_without_the_schema_that_a_refresh_read_is_another_table_of_the_name(catalog: Catalog) -> None:
    catalog.alter_table("s.t", AddColumn("more", IntType()))
    refreshed(catalog, "s.m", rows(1), at_ms=2_000)
    assert loaded(catalog).is_current
    catalog.rename_table("s.t", "s.u")
    catalog.create_table("s.t", Schema.from_arrow(COLUMNS))
    assert loaded(catalog).changed_sources == ("s.t",)


@pytest.mark.parametrize(
    ("options", "is_current"),
    [({}, True), ({"deletion-vectors.enabled": "true", "write-only": "true"}, False)],
    ids=["rows are visible at once", "rows are visible after a compaction"],
)
def test_a_compaction_of_a_source_is_a_change_if_it_makes_rows_visible(
    options: dict[str, str], is_current: bool
) -> None:
    catalog = a_catalog(MemoryFileIO(), {"bucket": "1", **options}, ("k",))
    source = table(catalog, "t")
    assert source.compact(full=True)
    assert loaded(catalog).is_current is is_current
    refreshed(catalog, "s.m", rows(1), at_ms=2_000)
    source.analyze(["v"])
    assert loaded(catalog).is_current


def test_other_commits_than_refreshes_make_a_table_stale_and_compactions_of_it_do_not(catalog: Catalog) -> None:
    own = table(catalog, "m")
    own.analyze(["v"])
    assert loaded(catalog).is_current
    other = Table(own.identifier, own.store, own.schema)
    other.facts.committer("somebody").truncate()
    found = loaded(catalog)
    assert (found.refresh, found.age(0), found.is_stale(0)) == (None, None, True)


def test_another_number_of_buckets_is_no_change_of_a_source_or_of_the_table() -> None:
    catalog = a_catalog(MemoryFileIO(), {"bucket": "1"}, keys=("k",))
    a_materialized_table(catalog, "s.n", QUERY, COLUMNS, options={"bucket": "1", "bucket-key": "k"})
    refreshed(catalog, "s.n", rows(1), at_ms=1_000)
    for name in ("t", "n"):
        assert table(catalog, name).rescale(2)
    assert materialized_table(catalog, "s.n").is_current


def test_a_source_that_reads_a_tag_by_its_options_is_never_known_to_be_unchanged(catalog: Catalog) -> None:
    table(catalog, "t").create_tag("x")
    catalog.alter_table("s.t", SetOption("scan.tag-name", "x"))
    refreshed(catalog, "s.m", rows(1), at_ms=2_000)
    assert loaded(catalog).changed_sources == ("s.t",)


def test_rows_of_another_program_under_a_refresh_of_some_partitions_make_a_table_stale(catalog: Catalog) -> None:
    base = table(catalog, "m").snapshots()[-1].id
    facts = table(catalog, "m").facts.as_refresh
    foreign = BatchCommit(facts).commit(TableWrite(facts).write(rows(7)))[-1].id
    refreshed(catalog, "s.m", rows(1), at_ms=2_000, base=base)
    assert loaded(catalog).refresh is None
    refreshed(catalog, "s.m", rows(1), at_ms=2_000)
    last = table(catalog, "m").snapshots()[-1].id
    assert (loaded(catalog).is_current, last) == (True, foreign + 2)
    table(catalog, "m").compact(full=True)
    refreshed(catalog, "s.m", rows(1), at_ms=3_000, base=last)
    table(catalog, "m").compact(full=True)
    found = loaded(catalog).refresh
    assert found is not None
    assert (found.time_ms, found.base, loaded(catalog).is_current) == (3_000, last, True)


def test_another_query_makes_a_table_stale_at_once_and_one_that_cannot_be_read_is_a_problem(catalog: Catalog) -> None:
    catalog.alter_table("s.m", SetOption(f"{KEY}definition-query", "SELECT k, v FROM s.t"))
    assert loaded(catalog).is_stale(1_000)
    for query, problem in (
        ("SELECT FROM WHERE", "cannot be read here: line 1"),
        ("SELECT * FROM lake.s.t", "'lake.s.t' is not a table of this catalog"),
        ("SELECT * FROM paimon_incremental_query('s.t', 1, 2)", "paimon_incremental_query"),
    ):
        catalog.alter_table("s.m", SetOption(f"{KEY}definition-query", query))
        assert problem in str(loaded(catalog).problem)
    assert [found.name for found in tables_of(catalog)] == [found.name for found in tables_of(catalog, "s")] == ["s.m"]
    with pytest.raises(InvalidInputError, match=r"'s\.t' is not a materialized table"):
        materialized_table(catalog, "s.t")


@pytest.mark.parametrize("mode", list(Mode))
def test_a_refresh_that_dies_at_any_call_leaves_the_old_rows_or_the_new_ones_with_their_record(mode: Mode) -> None:
    number, is_complete = 0, False
    while not is_complete:
        memory = MemoryFileIO()
        a_catalog(memory)
        table(load_catalog({"warehouse": "/w"}, file_io=memory), "t").append(rows(2))
        store = OneFailure(memory, number, mode, changes_only=True)
        with suppress(OSError, Crash):
            refreshed(load_catalog({"warehouse": "/w"}, file_io=store), "s.m", rows(1, 2), at_ms=2_000)
        is_complete, number = number >= store.calls, number + 1
        after = load_catalog({"warehouse": "/w"}, file_io=memory)
        found = sorted(table(after, "m").scan().to_arrow()["k"].to_pylist())
        assert (found, loaded(after).is_current) in (([1], False), ([1, 2], True))
    assert number > 5


@pytest.mark.parametrize("damage", ["schema", "option"])
def test_a_table_that_cannot_be_read_does_not_hide_the_others(caplog: pytest.LogCaptureFixture, damage: str) -> None:
    store = MemoryFileIO()
    catalog = a_catalog(store)
    a_materialized_table(catalog, "s.broken", QUERY, COLUMNS)
    path = f"{catalog.load_table('s.broken').location}/schema/schema-0"
    text = store.read(path).decode() if damage == "option" else "{"
    store.overwrite(path, text.replace('"SECOND"', '"AGE"').encode())
    assert [found.name for found in tables_of(catalog)] == ["s.m"]
    assert "s.broken is left out of the materialized tables: it cannot be read: " in caplog.text
