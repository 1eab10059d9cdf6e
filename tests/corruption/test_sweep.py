"""No truncation and no flipped bit of a metadata file gives wrong rows, or an error that names nothing.

``python -m tests.corruption.sweep`` flips every bit, and so does ``make matrix``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, Final

import pytest

from table_format.io.memory import MemoryFileIO
from table_format.model.identifier import Identifier
from tests.corruption.sweep import Outcome, Target, damage_in_every_way, flips, random_damages, truncations
from tests.corruption.targets import data_files, worlds
from tests.support.matrix import MATRIX

WORLDS = list(worlds())
CASES = [
    pytest.param(store, identifier, target, id=target.kind)
    for store, identifier, targets in WORLDS
    for target in targets
]


STEP: Final = 1 if MATRIX else 7


def some_flips(data: bytes) -> Iterator[tuple[str, bytes]]:
    """One or two bits of each byte, each of the eight in turn, or all of them."""
    return islice(flips(data), 0, None, STEP)


@pytest.mark.parametrize("ways", [truncations, some_flips])
@pytest.mark.parametrize(("store", "identifier", "target"), CASES)
def test_a_damaged_metadata_file_reads_as_before_or_names_a_file(
    store: MemoryFileIO,
    identifier: Identifier,
    target: Target,
    ways: Callable[[bytes], Iterator[tuple[str, bytes]]],
) -> None:
    tally = damage_in_every_way(store, identifier, target, ways)
    assert tally.damages == (tally.size if ways is truncations else -(-tally.size * 8 // STEP))
    assert tally.outcomes[Outcome.NAMED] or "hint" in target.kind
    # Two things no reader can know. Text has no checksum: a snapshot in another of the table's schemas is a sound
    # snapshot. And a container that was cut to its header is a sound empty one; no size of an index manifest is kept.
    data, damaged = store.read(target.path), dict(ways(store.read(target.path)))
    wrong = [what for _, what in tally.failures if not _is_sound(damaged[what], data)]
    assert not wrong


def _is_sound(damaged: bytes, data: bytes) -> bool:
    if data.startswith(b"{"):
        return without_schema_id(damaged) == without_schema_id(data)
    sync = data[-16:]
    return len(damaged) < len(data) and damaged.endswith(sync) and damaged.count(sync) == 1


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_a_damaged_data_file_gives_its_rows_or_an_error_that_names_it(file_format: str) -> None:
    store, identifier, targets = data_files()
    [target] = [t for t in targets if t.kind == file_format]
    tally = damage_in_every_way(store, identifier, target, partial(random_damages, 300))
    assert tally.outcomes[Outcome.NAMED] > 100
    assert not tally.outcomes[Outcome.NAMELESS]
    # Only Parquet pages have a checksum: in the other formats a value may be another sound value.
    assert file_format != "parquet" or not tally.outcomes[Outcome.OTHER_ROWS]


def without_schema_id(data: bytes) -> dict[str, Any]:
    members = json.loads(data)
    assert isinstance(members, dict)
    del members["schemaId"]
    return members
