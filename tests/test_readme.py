"""What the README shows works as it is written there."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

README = Path(__file__).parent.parent / "README.md"


def test_the_first_example_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)[0]
    names: dict[str, object] = {}
    exec(example, names)  # noqa: S102
    rows = names["orders"].scan().to_arrow()  # type: ignore[attr-defined]
    assert rows.select(["id", "state"]) == pa.table(
        {"id": [1], "state": ["paid"]}, schema=rows.select(["id", "state"]).schema
    )
