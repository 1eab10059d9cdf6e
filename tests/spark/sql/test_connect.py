"""The same SQL through Spark Connect."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.connect_process import needs_connect, printed_through_connect

pytestmark = pytest.mark.spark

EXPECTED = """\
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
"""


@needs_connect
def test_statements_run_through_connect(tmp_path: Path) -> None:
    assert printed_through_connect("tests.spark.sql.connect_session", tmp_path) == EXPECTED
