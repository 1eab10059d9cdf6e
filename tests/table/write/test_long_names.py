"""Names of tags, branches, consumers, tables and databases of every length: one that no file can have is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from table_format import Schema, Table
from table_format.errors import InvalidIdentifier
from table_format.io.memory import MemoryFileIO
from tests.support.odd_arguments import everything
from tests.support.tables import DATABASE, KEYED, Warehouse, disk_warehouse, keyed, memory_warehouse, rows_of


def _acknowledge(table: Table, consumer: str) -> None:
    stream = table.stream(options={"consumer-id": consumer})
    stream.next_plan()
    stream.acknowledge()


ACTIONS: dict[str, Callable[[Warehouse, Table, str], object]] = {
    "tag": lambda w, t, name: t.create_tag(name),
    "tag renamed": lambda w, t, name: t.rename_tag("keep", name),
    "no tag": lambda w, t, name: t.delete_tag(name) if len(name.encode()) > 251 else None,
    "branch": lambda w, t, name: t.create_branch(name, tag="keep"),
    "branch renamed": lambda w, t, name: t.rename_branch("br", name),
    "consumer": lambda w, t, name: t.reset_consumer(name, 1),
    "no consumer": lambda w, t, name: t.delete_consumer(name),
    "consumer of a stream": lambda w, t, name: _acknowledge(t, name),
    "database": lambda w, t, name: w.catalog.create_database(name),
    "table": lambda w, t, name: w.catalog.create_table(f"{DATABASE}.{name}", Schema.from_arrow(KEYED)),
    "table renamed": lambda w, t, name: w.catalog.rename_table(str(t.identifier), f"{DATABASE}.{name}"),
}


@pytest.mark.parametrize("store", ["memory", "disk"])
@pytest.mark.parametrize("letter", ["x", "é"])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_name_of_any_length_is_accepted_or_refused_and_nothing_written(
    tmp_path: Path, action: str, letter: str, store: str
):
    refused = []
    for size in (200, 204, 208, 210, 214, 246, 248, 250, 252, 254, 256, 300):
        directory = tmp_path / str(size)
        directory.mkdir()
        warehouse = memory_warehouse() if store == "memory" else disk_warehouse(directory)
        table = warehouse.table("t")
        table.append(keyed([(1, "a", 1)]))
        table.create_tag("keep")
        table.create_branch("br", tag="keep")
        root = "/warehouse" if isinstance(warehouse.io, MemoryFileIO) else str(directory)
        before = everything(warehouse.io, root)
        try:
            ACTIONS[action](warehouse, table, letter * (size // len(letter.encode())))
        except InvalidIdentifier:
            refused.append(size)
            assert everything(warehouse.io, root) == before
    assert 300 in refused
    assert 200 not in refused
    assert refused == sorted(refused), "a name longer than a refused one was accepted"


def test_a_table_with_the_longest_names_is_still_used(tmp_path: Path):
    warehouse = disk_warehouse(tmp_path)
    warehouse.catalog.create_database("d" * 252)
    table = warehouse.catalog.create_table(f"{'d' * 252}.{'t' * 255}", Schema.from_arrow(KEYED))
    table.append(keyed([(1, "a", 1)]))
    table.create_tag("x" * 209)
    table.create_branch("y" * 248, tag="x" * 209)
    table.reset_consumer("z" * 204, 1)
    branch = warehouse.catalog.load_table(f"{table.identifier}$branch_{'y' * 248}")
    assert rows_of(table) == rows_of(branch) == [(1, "a", 1)]  # type: ignore[arg-type]
    assert set(table.tags()) == {"x" * 209}
    assert set(table.consumers()) == {"z" * 204}
