"""A pipe, a device, a directory, 60 GB or a link to nowhere under every name of a table, before every operation.

Nothing hangs, nothing fills memory, nothing raw is raised, no wrong row is read, and the table can always be dropped.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.hostile_files import KINDS, OPERATIONS, PLACES, SECONDS

_MOST_MEGABYTES = 600
_PATIENCE_SECONDS = 300


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What became of every trial, in a process of limited memory."""
    base: Path = tmp_path_factory.mktemp("hostile")
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.hostile_files", str(base)],
        capture_output=True,
        text=True,
        timeout=_PATIENCE_SECONDS,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("kind", KINDS)
def test_every_operation_ends_soon_and_does_its_work_or_names_a_path(trials: list[dict[str, Any]], kind: str) -> None:
    found = [trial for trial in trials if trial["kind"] == kind]
    assert len(found) == len(PLACES) * (len(OPERATIONS) + 1)
    assert [trial for trial in found if trial["outcome"] not in ("done", "named")] == []
    assert max(trial["seconds"] for trial in found) < SECONDS
    assert max(trial["megabytes"] for trial in found) < _MOST_MEGABYTES


def test_a_table_with_such_files_can_be_dropped(trials: list[dict[str, Any]]) -> None:
    drops = [trial for trial in trials if trial["operation"] == "drop"]
    assert [trial for trial in drops if trial["outcome"] != "done" or not trial["is_gone"]] == []


def test_both_outcomes_occur_for_every_operation_but_drop(trials: list[dict[str, Any]]) -> None:
    seen = Counter((trial["operation"], trial["outcome"]) for trial in trials)
    for operation in OPERATIONS:
        assert seen[operation, "done"] > 10
        assert seen[operation, "named"] > 10
