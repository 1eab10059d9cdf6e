"""Tags of periods: commits of both engines create and drop the same ones, alone and in turn, by the same watermarks."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, load_catalog
from table_format.errors import AlreadyExistsError
from tests.oracle.peer import PaimonPeer, PeerError
from tests.oracle.random_merges import VERSION

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False)])
MINUTE = 60_000
PERIODS = {"daily": 1440 * MINUTE, "hourly": 60 * MINUTE, "two-hours": 120 * MINUTE}
OTHER_PERIODS = [MINUTE, 15 * MINUTE, 90 * MINUTE, 5 * 1440 * MINUTE]
FORMATS = ["with_dashes", "without_dashes", "without_dashes_and_spaces"]
ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "GMT-08:00"]
START = 1_700_006_400_000


def drawn(chance: random.Random) -> tuple[int, dict[str, str]]:
    """The length of a period, and options."""
    options = {"bucket": "1", "tag.automatic-creation": "watermark"}
    if chance.random() < 0.7:
        period = chance.choice(list(PERIODS))
        length = PERIODS[period]
        options["tag.creation-period"] = period
        if period != "two-hours" and chance.random() < 0.5:
            options["tag.period-formatter"] = chance.choice(FORMATS)
    else:
        length = chance.choice(OTHER_PERIODS)
        options["tag.creation-period-duration"] = f"{length} ms"
    further = {
        "tag.creation-delay": f"{chance.choice([1, length // 2, length - 1])} ms",
        "tag.num-retained-max": chance.choice("123"),
        "tag.automatic-completion": "true",
        "sink.watermark-time-zone": chance.choice(ZONES),
    }
    return length, {**options, **{key: value for key, value in further.items() if chance.random() < 0.4}}


@pytest.mark.parametrize("seed", range(12))
def test_both_create_and_drop_the_same_tags_of_periods(
    peers: Callable[[str], PaimonPeer], tmp_path: Path, seed: int
) -> None:
    paimon, chance = peers(VERSION), random.Random(seed)
    length, options = drawn(chance)
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    for name in ("ours", "theirs", "shared"):
        catalog.create_table(f"db.{name}", Schema.from_arrow(SCHEMA, primary_keys=["k"], options=options))
    named = chance.random() < 0.3
    watermark = START
    for step in range(7):
        watermark += chance.choice([0, length // 2, length, length - 1, length + 1, 3 * length, MINUTE, -length])
        given = watermark if chance.random() < 0.9 else None
        if named and step == 2:  # the name of a tag of a period, at least of a day
            for name in ("ours", "theirs", "shared"):
                with suppress(PeerError):
                    paimon.history(tmp_path, f"db.{name}", "create_tag", "2023-11-15")
        in_turn = chance.random() < 0.5
        for name, is_ours in (("ours", True), ("theirs", False), ("shared", in_turn)):
            if is_ours:
                rows = pa.table({"k": [step]}, schema=SCHEMA)
                catalog.load_table(f"db.{name}").append(rows, watermark=given)
            else:
                paimon.write(tmp_path, f"db.{name}", [["+I", [step]]], watermark=given)
        tags = [paimon.kept(tmp_path, f"db.{name}")["tags"] for name in ("ours", "theirs", "shared")]
        assert tags[0] == tags[1] == tags[2], (step, options)


def test_a_second_tag_of_a_period_on_a_snapshot_is_refused_because_commits_of_java_fail_with_it(
    peers: Callable[[str], PaimonPeer], tmp_path: Path
) -> None:
    paimon = peers(VERSION)
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    options = {"bucket": "1", "tag.automatic-creation": "watermark", "tag.num-retained-max": "1"}
    table = catalog.create_table("db.t", Schema.from_arrow(SCHEMA, primary_keys=["k"], options=options))
    table.append(pa.table({"k": [1]}, schema=SCHEMA), watermark=START)
    table.create_tag("mine")
    for name in ("2020-01-01", "2020-01-02"):
        with pytest.raises(AlreadyExistsError):
            table.create_tag(name)
        with pytest.raises(AlreadyExistsError):
            table.rename_tag("mine", name)
    paimon.write(tmp_path, "db.t", [["+I", [2]]], watermark=START + 2 * PERIODS["daily"])
    assert paimon.kept(tmp_path, "db.t")["tags"] == {"2023-11-16": 2, "mine": 1}
