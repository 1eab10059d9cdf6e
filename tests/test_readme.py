"""What the README shows works as it is written there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support.code_blocks import code_blocks, run_block

README = Path(__file__).parent.parent / "README.md"


def examples() -> list[str]:
    return code_blocks(README.read_text())


def test_the_first_example_of_the_readme_prints_the_table_as_it_is_and_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_block(examples()[0], {})
    now, then = [{"id": 1, "state": "paid"}], [{"id": 1, "state": "new"}, {"id": 2, "state": "new"}]
    printed = [ast.literal_eval(line) for line in capsys.readouterr().out.splitlines()]
    assert [sorted(rows, key=lambda row: row["id"]) for rows in printed] == [now, then]


def test_the_tour_of_the_library_in_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    run_block(examples()[1], names)
    rows = names["orders"].scan(columns=["id", "state"]).to_arrow()  # type: ignore[attr-defined]
    assert rows.sort_by("id").to_pydict() == {"id": [1, 3], "state": ["paid", "new"]}
