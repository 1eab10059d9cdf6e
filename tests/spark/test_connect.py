"""The same through Spark Connect, which has neither a JVM nor a context to reach into."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

EXPECTED = """\
merged [Row(v='a', count=30), Row(v='b', count=20)]
refused column 'id' is BIGINT NOT NULL; found 1 nulls, the first in row 0
compacted 1
native [Row(v='a', count=40), Row(v='b', count=5)]
source [Row(id=0, v='c')]
snapshots 4
joined Row(commit_kind='APPEND', schema_id=0)
empty 0
audited [Row(rowkind='+I')]
"""


@pytest.mark.skipif(importlib.util.find_spec("grpc_status") is None, reason="the extra 'connect' is not installed")
def test_tables_are_written_read_merged_and_compacted_through_connect(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.connect_session", str(tmp_path / "warehouse")],
        cwd=root,
        env={
            **environment,
            "SPARK_LOCAL_DIRS": str(tmp_path),
            "SPARK_SUBMIT_OPTS": os.environ["SPARK_SUBMIT_OPTS"],
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == EXPECTED, done.stderr[-4000:]
    assert done.returncode == 0
