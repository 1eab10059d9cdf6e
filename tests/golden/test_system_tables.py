"""System tables of tables that real Paimon wrote show what Paimon shows: columns, types and rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import pytest

from table_format import Table, load_catalog
from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.table.system.registry import open_system_table
from table_format.table.system.table import SystemTable
from tests.golden.test_reads import feature_waited_for
from tests.support.golden import GoldenCase, case_names, golden_case
from tests.support.json_rows import json_rows, sorted_rows
from tests.support.system_rows import differences, is_old

LIMITED = frozenset({"row_tracking"})
"""System tables that not every table has: Paimon refuses to open them."""

FALLBACK = frozenset({"fallback_branch/files", "fallback_branch/partitions", "fallback_branch/ro"})
"""0.9 counted the fallback branch among the files and not elsewhere; later versions the other way round."""

ROWS = frozenset({"ro", "audit_log", "binlog", "row_tracking"})
"""System tables that show the rows of the table."""


def version_of(golden: GoldenCase) -> str:
    """The version of Paimon that wrote a case and showed its system tables."""
    found = re.search(r"-(\d+\.\d+\.\d+) ", golden.expected["written_by"])
    assert found is not None
    return found[1]


@pytest.mark.parametrize("case", case_names())
def test_the_system_tables_of_a_golden_case_show_what_paimon_shows(case: str) -> None:
    golden = golden_case(case)
    found: list[str] = []
    for name, facts in golden.tables.items():
        for title, expected in facts.get("system_tables", {}).items():
            if title in LIMITED and "rows" not in expected:
                with pytest.raises((InvalidOption, UnsupportedFeature)):
                    opened(case, name, title)
            elif "rows" in expected and not is_mended(golden, facts, title):  # without rows Paimon itself fails on it
                texts = list(found_in(golden, name, title, expected))
                if f"{case}/{title}" in FALLBACK:
                    texts = [] if texts else ["is as in 0.9"]
                found += [f"{name}${title}: {text}" for text in texts]
    assert found == []


def opened(case: str, name: str, title: str) -> SystemTable:
    """A system table, of a table that is opened once for all of them."""
    return open_system_table(table_of(case, name), title)


@lru_cache(1)
def table_of(case: str, name: str) -> Table:
    table = load_catalog({"warehouse": str(golden_case(case).warehouse)}).load_table(name)
    assert isinstance(table, Table)
    return table


def is_mended(golden: GoldenCase, facts: dict[str, Any], title: str) -> bool:
    """Whether later versions of Paimon show other rows of this table."""
    if title not in ROWS:
        return False
    options = facts["schema"]["options"]
    # Since 1.0 the highest level is read without the rows of others, with deletion vectors too.
    marked = title == "ro" and is_old(version_of(golden)) and options.get("deletion-vectors.enabled") == "true"
    return marked or facts.get("cross_read", {}).get("1.4.2", "same") != "same"


def found_in(golden: GoldenCase, name: str, title: str, expected: dict[str, Any]) -> Iterator[str]:
    """The differences; a table that waits for a feature may be refused for it."""
    try:
        rooted = {**expected, "rows": [[_unrooted(golden, value) for value in row] for row in expected["rows"]]}
        yield from list(differences(version_of(golden), opened(golden.name, name, title), title, rooted))
    except UnsupportedFeature as refusal:
        if refusal.feature != feature_waited_for(golden.name, name):
            yield str(refusal)


def _unrooted(golden: GoldenCase, value: Any) -> Any:
    return value.replace("{warehouse}", str(golden.warehouse)) if isinstance(value, str) else value


def test_the_tables_of_sys_show_what_paimon_shows() -> None:
    for case in ("global_system_tables", "global_system_tables__1.4.2"):
        golden = golden_case(case)
        catalog = load_catalog({"warehouse": str(golden.warehouse), "cache-enabled": "false"})
        for title, expected in golden.expected["global_system_tables"].items():
            shown = catalog.load_table(f"sys.{title}")
            assert isinstance(shown, SystemTable)
            assert [f.name for f in shown.fields] == expected["columns"]
            assert [str(f.type) for f in shown.fields] == expected["types"]
            rows: Sequence[Sequence[Any]] = [[_unrooted(golden, v) for v in row] for row in expected["rows"]]
            if title == "all_table_options":
                # 1.x counts the place of a table among its options; it is not one that the table holds.
                rows = [row for row in rows if row[2] != "path"]
            assert json_rows(shown.scan().to_arrow(), shown.fields) == sorted_rows(rows)
        newest = golden_case("global_system_tables__1.4.2").expected["sys_tables"]
        assert list(catalog.list_tables("sys")) == sorted(newest)
