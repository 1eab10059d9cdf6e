"""The same through Spark Connect, which has neither a JVM nor a context to reach into."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.connect_process import needs_connect, printed_through_connect

pytestmark = pytest.mark.spark

EXPECTED = """\
merged [Row(v='a', count=30), Row(v='b', count=20)]
by positions [Row(v='a', count=30), Row(v='b', count=20)]
many to compare {'a': 30, 'b': 20} {'a': 30, 'b': 20} {'a': 30, 'b': 20}
refused column 'id' is BIGINT NOT NULL; found 1 null, the first in row 0
compacted 1
native [Row(v='a', count=40), Row(v='b', count=5)]
source [Row(id=0, v='c')]
snapshots 4
joined Row(commit_kind='APPEND', schema_id=0)
empty 0
audited [Row(rowkind='+I')]
changed 1 9
too large table s.a: column 'n' is INT, which cannot hold 5000000000
marked 1 [Row(id=0, n=0), Row(id=1, n=1), Row(id=2, n=3), Row(id=3, n=3)]
batches [2000, 2000, 1000] False [5000]
shuffle [Row(v='shuffle', count=5000)]
storage [Row(v='storage', count=5000)]
none [Row(v='none', count=5000)]
wide 3
absent 2 2 2 2 2 2
streamed [0, 1] 6 2
each 8 1
missing PackageMissing
"""


@needs_connect
def test_tables_are_written_read_merged_and_compacted_through_connect(tmp_path: Path) -> None:
    assert printed_through_connect("tests.spark.connect_session", tmp_path) == EXPECTED
