"""Damaged indexes of data files never change a result under our own names, and under others only unnoticeably."""

from __future__ import annotations

from functools import cache
from itertools import islice

import pytest

from table_format.codecs.file_index import IndexPlaces
from table_format.errors import Truncated
from table_format.kernels.file_index.results import Rows, Skip, Unknown
from tests.corruption.file_indexes import (
    QUESTIONS,
    IndexGround,
    Outcome,
    columns_at,
    random_damages,
    structural_flips,
    tried,
)
from tests.corruption.index_layout import places_of

GROUNDS = [
    ("parquet", "beside", "ours"),
    ("parquet", "in manifest", "ours"),
    ("parquet", "beside", "others"),
    ("orc", "in manifest", "others"),
    ("avro", "beside", "others"),
    ("marked", "beside", "ours"),
]
"""Some of those that ``make indexes`` searches."""

ground = cache(IndexGround)


@pytest.mark.parametrize(("kind", "place", "writer"), GROUNDS)
def test_a_damaged_index_gives_the_rows_of_a_scan_without_indexes(kind: str, place: str, writer: str) -> None:
    sound = ground(kind, place, writer)
    tally = tried(sound, random_damages(sound, "suite", 40))
    assert not tally.wrong
    assert tally.outcomes[Outcome.WARNED] + tally.outcomes[Outcome.NAMED] >= 20


def test_without_the_hash_in_names_damage_hides_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = ground("parquet", "beside", "ours")
    monkeypatch.setattr("table_format.indexes.file_index.check_content", lambda data, *, path: None)
    tally = tried(sound, random_damages(sound, "unchecked", 60))
    assert any(Outcome.HIDDEN in text for text in tally.wrong)


def test_if_indexes_did_not_have_to_follow_each_other_places_that_lie_would_hide_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def within(places: IndexPlaces, *, head_length: int, size: int, path: str) -> None:
        del head_length
        if any(place.start + place.length > size for column in places.values() for place in column.values()):
            raise Truncated(path, expected_bytes=size + 1, found_bytes=size)

    sound = ground("parquet", "beside", "others")
    lies = [damage for damage in random_damages(sound, "places", 3000) if " of Place(" in damage.what][:150]
    assert not tried(sound, iter(lies)).wrong
    monkeypatch.setattr("table_format.indexes.file_index.check_places", within)
    assert tried(sound, iter(lies)).wrong


@pytest.mark.parametrize("bit", range(3))
def test_a_wrong_bit_of_the_structure_of_an_index_hides_no_row(bit: int) -> None:
    sound = ground("parquet", "beside", "others")
    container = sound.containers[0]
    tried_flips = 0
    for at, damaged in islice(structural_flips(container), bit * 3, None, 8):
        for column in columns_at(container, [at])[:1]:
            question = QUESTIONS[column][tried_flips % 2].partition(" AND ")[0]
            expected, found = (sound.evaluated(each, question) for each in (container, damaged))
            match found, expected:
                case None | Unknown(), _:
                    pass
                case Skip(), _:
                    assert expected == found, (at, question)
                case Rows(positions), Rows(right):
                    assert positions >= right, (at, question)
            tried_flips += 1
    assert tried_flips > 800


def test_the_walk_over_a_container_finds_every_index() -> None:
    container = ground("parquet", "beside", "others").containers[0]
    places = places_of(container)
    assert len(places) == 16
    assert sum(place.length for place in places) == len(container) - min(place.start for place in places)
