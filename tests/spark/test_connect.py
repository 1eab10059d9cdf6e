"""Tables, SQL and assets through Spark Connect, which has neither a JVM nor a context to reach into."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.spark.connect_session import ASSETS_FOLLOW, STATEMENTS_FOLLOW
from tests.support.connect_process import needs_connect, printed_through_connect

pytestmark = pytest.mark.spark

TABLES = """\
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
batches [2000, 2000, 1000] False [5000] [5000]
shuffle [Row(v='shuffle', count=5000)]
storage [Row(v='storage', count=5000)]
none [Row(v='none', count=5000)]
wide 3
absent 2 2 2 2 2 2
lost SnapshotExpired TableNotFound SnapshotExpired TableNotFound
streamed [0, 1] 6
each [2, 3] 2
missing PackageMissing
"""


STATEMENTS = """\
[]
[]
[(1, 'a', 10), (2, '{b}', 20), (3, None, 30)]
[('{b}',)]
[(2,)]
[(1,), (3,)]
[(1,), (2,)]
[(3,)]
[(100,), (200,), (300,)]
[('v=%7Bb%7D',), ('v=a',)]
[(2, '{b}'), (9, 'a')]
[('x',)]
[(True,)]
[]
[('', 'w', True), ('s', 'c', False), ('s', 't', False)]
[('k', 'int', None), ('n', 'bigint', None), ('v', 'string', None)]
SnapshotNotFound
[(2,)]
[(0, 9, 'a', 'a')]
[(1, 'a', 10)]
[(2,)]
[(3,)]
[]
[(11,)]
[(2,), (3,)]
[(2,)]
False
s.c "v" = 'nothing' AND "k" > 3
s.t None ['`v` DESC NULLS LAST', '`n` ASC NULLS FIRST'] 2
[(1, 'a')]
s.t "n" >= 20 ['`n` ASC NULLS FIRST'] 1
[(2, '{b}', 20)]
s.t None
[(3,)]
s.t None
[(6,)]
s.t None
[(0, 1)]
[(2,), (11,)]
UnsupportedFeature
[(1, None), (None, 'x')]
[(12, 'a')]
InvalidInputError
[(12, 'a')]
[(20, 2)]
TableNotFound
TableNotFound
({'day': 'b'},) [('a', 1), ('b', 5)]
"""


ASSETS = """\
replaced [('2026-03-01', 2), ('2026-03-02', 1)]
read pyspark.sql.connect.dataframe [dict_items([('n', 3)])]
refused lab.readings: the frame has rows of dt = 2026-03-03, which are not among the run's partitions (2026-03-01); \
nothing was written
upserted [('2026-03-01', 1), ('2026-03-02', 2, 1)]
kept [{'id': 1}, {'id': 2}]
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """What one client of one server prints about tables, then about statements, and then about assets."""
    text = printed_through_connect("tests.spark.connect_session", tmp_path_factory.mktemp("connect"))
    tables, _, more = text.partition(f"{STATEMENTS_FOLLOW}\n")
    statements, _, assets = more.partition(f"{ASSETS_FOLLOW}\n")
    return tables, statements, assets


@needs_connect
def test_tables_are_written_read_merged_and_compacted_through_connect(printed: tuple[str, str, str]) -> None:
    assert printed[0] == TABLES


@needs_connect
def test_statements_run_through_connect(printed: tuple[str, str, str]) -> None:
    assert printed[1] == STATEMENTS


@needs_connect
@pytest.mark.dagster
@pytest.mark.skipif(find_spec("dagster") is None, reason="the extra 'dagster' is not installed")
def test_assets_are_replaced_read_refused_and_upserted_through_connect(printed: tuple[str, str, str]) -> None:
    assert printed[2] == ASSETS
