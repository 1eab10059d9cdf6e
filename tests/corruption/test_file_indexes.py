"""Damaged indexes of data files never change a result under our own names, and under others only unnoticeably."""

from __future__ import annotations

from functools import cache
from itertools import islice

import pytest

from table_format.codecs.file_index import IndexPlaces
from table_format.errors import Truncated
from table_format.kernels.file_index.results import Rows, Skip, Unknown
from tests.corruption.file_indexes import (
    IN_PARTS,
    QUESTIONS,
    SMALL_READS,
    Damage,
    IndexGround,
    Outcome,
    columns_at,
    differ_in_parts,
    random_damages,
    structural_flips,
    tried,
)
from tests.corruption.index_layout import places_of
from tests.support.matrix import tries

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
    tally = tried(sound, random_damages(sound, "suite", tries(20, many=40)))
    assert not tally.wrong
    assert tally.outcomes[Outcome.WARNED] + tally.outcomes[Outcome.NAMED] >= tries(10, many=20)


def test_without_the_hash_in_names_damage_hides_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = ground("parquet", "beside", "ours")
    monkeypatch.setattr("table_format.indexes.index_container.check_content", lambda data, *, path: None)
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
    lies = [damage for damage in random_damages(sound, "places", 1200) if " of Place(" in damage.what][:60]
    assert not tried(sound, iter(lies)).wrong
    monkeypatch.setattr("table_format.indexes.index_container.check_places", within)
    assert tried(sound, iter(lies)).wrong


@pytest.fixture(scope="module")
def in_parts(tmp_path_factory: pytest.TempPathFactory) -> IndexGround:
    return IndexGround("parquet", IN_PARTS, "ours", str(tmp_path_factory.mktemp("parts")))


def test_damage_of_an_index_that_is_read_in_parts_changes_no_row_and_is_noticed_where_it_is_read(
    in_parts: IndexGround,
) -> None:
    tally = tried(in_parts, random_damages(in_parts, "suite", tries(30, many=60)))
    assert not tally.wrong
    assert tally.outcomes[Outcome.WARNED] >= tries(10, many=20)


def test_a_damaged_index_says_the_same_when_its_head_is_read_in_small_parts() -> None:
    sound = ground("parquet", "in manifest", "others")
    assert sound.evaluated(sound.containers[0], "city = 'Oslo'", SMALL_READS) is not None
    assert differ_in_parts(sound, random_damages(sound, "suite", 300)) == []


def test_the_hash_of_the_parts_keeps_filters_that_lost_their_bits_from_hiding_rows(
    in_parts: IndexGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = [_without_bits(in_parts, number, "id") for number in range(3)]
    assert Outcome.HIDDEN not in [in_parts.outcome(damage, "id = 43")[0] for damage in lost]
    monkeypatch.setattr("table_format.indexes.index_container.check_parts", lambda parts, *, stated, path: None)
    assert Outcome.HIDDEN in [in_parts.outcome(damage, "id = 43")[0] for damage in lost]


def _without_bits(ground: IndexGround, number: int, column: str) -> Damage:
    data = bytearray(ground.containers[number])
    (place,) = (p for p in places_of(bytes(data)) if (p.column, p.index_type) == (column, "bloom-filter"))
    data[place.start + 4 : place.start + place.length] = bytes(place.length - 4)
    return Damage("no bits", number, bytes(data), (column,), may_hide=False)


@pytest.mark.parametrize("bit", range(3))
def test_a_wrong_bit_of_the_structure_of_an_index_hides_no_row(bit: int) -> None:
    sound = ground("parquet", "beside", "others")
    container = sound.containers[0]
    tried_flips, step = 0, tries(17, many=8)
    for at, damaged in islice(structural_flips(container), bit * 3, None, step):
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
    assert tried_flips > 6400 / step


def test_the_walk_over_a_container_finds_every_index() -> None:
    container = ground("parquet", "beside", "others").containers[0]
    places = places_of(container)
    assert len(places) == 16
    assert sum(place.length for place in places) == len(container) - min(place.start for place in places)
