"""Keys are ranked and grouped alike, whichever way their number and range suggest."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from table_format.kernels.file_index.ranked_keys import RankedKeysBuilder, grouped, ranked
from table_format.model.types import VarCharType

CHANCE = np.random.default_rng(7)
ROWS = 20_000
WORDS = CHANCE.integers(-(2**63), 2**63 - 1, 300)
KEYS = {
    "few of a small range": CHANCE.integers(-50, 50, ROWS),
    "few of a wider range": CHANCE.integers(0, 90, ROWS) * 201,
    "few of a range wider than the rows": CHANCE.integers(0, 90, ROWS) * 1001,
    "few of all words": WORDS[CHANCE.integers(0, len(WORDS), ROWS)],
    "many of a wide range": CHANCE.integers(0, 70_000, 100_000),
    "mostly distinct": CHANCE.integers(-(2**63), 2**63 - 1, ROWS),
    "distinct after few": np.concatenate([np.zeros(5000, np.int64), CHANCE.integers(0, 2**60, ROWS)]),
    "one": np.full(ROWS, -3),
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_numbers_are_ranked_and_grouped_as_sorting_them_does(keys: np.ndarray) -> None:
    expected, places = np.unique(keys, return_inverse=True)
    distinct, ranks = ranked(keys)
    assert np.array_equal(distinct, expected)
    assert np.array_equal(ranks, places)
    distinct, rows, ends = grouped(keys)
    assert np.array_equal(distinct, expected)
    assert np.array_equal(rows, np.argsort(keys, kind="stable"))
    assert np.array_equal(ends, np.cumsum(np.bincount(places)))


def builder_of(pieces: list[list[str | None]]) -> RankedKeysBuilder:
    builder = RankedKeysBuilder(VarCharType())
    for piece in pieces:
        builder.add(pa.array(piece, pa.string()))
    return builder


@pytest.mark.parametrize("last", ["k-0007", "k-00007", "another"])
def test_texts_are_grouped_alike_whether_all_have_one_shape_or_the_last_does_not(last: str) -> None:
    texts: list[str | None] = [f"k-{n:04d}" if n % 5 else None for n in CHANCE.integers(0, 700, 9000).tolist()]
    pieces: list[list[str | None]] = [texts[:4000], [None], texts[4000:], [last]]
    whole = [text for piece in pieces for text in piece]
    expected = sorted({text.encode() for text in whole if text is not None})
    places = {key: place for place, key in enumerate(expected)}
    found = builder_of(pieces).ranked()
    assert found.keys.to_pylist() == expected
    assert found.ranks.tolist() == [-1 if text is None else places[text.encode()] for text in whole]
    by_key = builder_of(pieces).rows_by_key()
    assert by_key.keys.to_pylist() == expected
    assert by_key.nulls.tolist() == [row for row, text in enumerate(whole) if text is None]
    assert [whole[row] for row in by_key.rows.tolist()] == sorted(text for text in whole if text is not None)
    assert by_key.ends.tolist() == np.cumsum(np.bincount(found.ranks[found.ranks >= 0])).tolist()
