"""What the README shows works as it is written there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_the_first_example_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)[0]
    names: dict[str, object] = {}
    exec(example, names)  # noqa: S102
    rows = names["orders"].scan(columns=["id", "state"]).to_arrow()  # type: ignore[attr-defined]
    assert rows.sort_by("id").to_pydict() == {"id": [1, 3], "state": ["paid", "new"]}
