from __future__ import annotations

from datetime import UTC, datetime

import pytest

from table_format.errors import InvalidIdentifier, InvalidOption
from table_format.metastore.history.automatic_tags import create_batch_tag, create_period_tags
from table_format.metastore.references.tag_periods import TagPeriods
from table_format.metastore.references.tag_store import TagStore
from table_format.options.table_options import TableOptions
from table_format.options.zones import local_ms, zone_of
from tests.support.metastore_table import HOUR, MetastoreTable, a_table, committable

DAY = 24 * HOUR
MONDAY = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp() * 1000)
MODE = {"tag.automatic-creation": "process-time", "sink.process-time-zone": "UTC"}


def periods(**options: str) -> TagPeriods:
    raw = {key.replace("_", "-"): value for key, value in options.items()}
    return TagPeriods.of(TableOptions.parse({f"tag.{key}": value for key, value in raw.items()}).tags)


def committed_at(table: MetastoreTable, *times_ms: int) -> None:
    for number, time_ms in enumerate(times_ms, start=len(table.snapshots.ids()) + 1):
        table.clock.ms = time_ms
        table.append(identifier=number)


def made(table: MetastoreTable) -> dict[str, int]:
    return {name: tag.snapshot.id for name, tag in TagStore(table.store).all().items()}


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (periods(), "2024-01-01"),
        (periods(period_formatter="without_dashes"), "20240101"),
        (periods(period_formatter="without_dashes_and_spaces"), "20240101"),
        (periods(creation_period="hourly"), "2024-01-01 07"),
        (periods(creation_period="hourly", period_formatter="without_dashes"), "20240101 07"),
        (periods(creation_period="hourly", period_formatter="without_dashes_and_spaces"), "2024010107"),
        (periods(creation_period="two-hours", period_formatter="without_dashes"), "2024-01-01 06"),
        (periods(creation_period_duration="15 min"), "202401010745"),
    ],
)
def test_the_name_of_a_period_identifies_it(found: TagPeriods, name: str):
    begin = (MONDAY + 7 * HOUR + 50 * 60_000) // found.length_ms * found.length_ms
    assert found.name_of(begin) == name
    assert found.time_of(name) == begin
    assert found.last_ended(begin + 1) == begin - found.length_ms
    for other in ("release", "2024-1-1", "20240101x", "2024-13-01", ""):
        assert found.time_of(other) is None


def test_the_first_commit_after_the_end_of_a_day_gets_its_tag():
    table = a_table(options=MODE)
    committed_at(table, MONDAY + HOUR, MONDAY + 2 * HOUR, MONDAY + DAY + HOUR, MONDAY + DAY + 2 * HOUR)
    assert create_period_tags(table.store, table.options) == ("2023-12-31", "2024-01-01")
    assert made(table) == {"2023-12-31": 1, "2024-01-01": 3}
    assert create_period_tags(table.store, table.options) == ()
    committed_at(table, MONDAY + 4 * DAY)
    assert create_period_tags(table.store, table.options) == ("2024-01-04",)


def test_days_without_commits_get_tags_when_asked():
    table = a_table(options={**MODE, "tag.automatic-completion": "true"})
    committed_at(table, MONDAY, MONDAY + 3 * DAY, MONDAY + 3 * DAY + 1, MONDAY + 3 * DAY + 2)
    create_period_tags(table.store, table.options)
    assert made(table) == {"2023-12-31": 1, "2024-01-01": 2, "2024-01-02": 3, "2024-01-03": 4}


def test_a_delay_lets_late_rows_in():
    table = a_table(options={**MODE, "tag.creation-delay": "2 h"})
    committed_at(table, MONDAY, MONDAY + DAY + HOUR, MONDAY + DAY + 2 * HOUR)
    create_period_tags(table.store, table.options)
    assert made(table) == {"2023-12-31": 1, "2024-01-01": 3}


def test_the_time_zone_determines_when_a_day_ends():
    table = a_table(options={**MODE, "sink.process-time-zone": "GMT-08:00"})
    committed_at(table, MONDAY + HOUR, MONDAY + 9 * HOUR)
    create_period_tags(table.store, table.options)
    assert made(table) == {"2023-12-30": 1, "2023-12-31": 2}


def test_watermarks_make_tags_and_commits_without_one_do_not():
    options = {"tag.automatic-creation": "watermark", "tag.creation-period": "hourly"}
    table = a_table(options=options)
    for number, watermark in enumerate((None, -(1 << 63), MONDAY, MONDAY + HOUR - 1, MONDAY + HOUR), start=1):
        message = table.message(new_files=(table.file(),))
        table.write(message)
        table.committer().commit(committable(number, message, watermark=watermark))
    create_period_tags(table.store, table.options)
    assert made(table) == {"2023-12-31 23": 3, "2024-01-01 00": 5}


def test_at_most_the_maximum_is_kept_and_tags_of_others_do_not_count():
    table = a_table(options={**MODE, "tag.num-retained-max": "2"})
    committed_at(table, MONDAY)
    TagStore(table.store).create("mine", table.snapshots.load(1))
    committed_at(table, *(MONDAY + day * DAY for day in range(1, 5)))
    create_period_tags(table.store, table.options)
    assert made(table) == {"mine": 1, "2024-01-03": 4, "2024-01-04": 5}


def test_tags_continue_after_snapshots_have_expired():
    table = a_table(options=MODE)
    committed_at(table, MONDAY)
    create_period_tags(table.store, table.options)
    committed_at(table, MONDAY + 1, MONDAY + 2, MONDAY + DAY)
    table.expire(retain_min=1, retain_max=1, older_than_ms=1 << 60, retain_floor_ms=0)
    assert create_period_tags(table.store, table.options) == ("2024-01-01",)
    assert made(table) == {"2023-12-31": 1, "2024-01-01": 4}


def test_new_tags_get_the_default_time():
    table = a_table(options={**MODE, "tag.default-time-retained": "3 d"})
    committed_at(table, MONDAY)
    create_period_tags(table.store, table.options)
    assert TagStore(table.store).load("2023-12-31").time_retained_ms == 3 * DAY


def test_the_batch_tag_carries_the_day_of_the_commit():
    table = a_table(options={"tag.automatic-creation": "batch", "sink.process-time-zone": "UTC"})
    assert create_batch_tag(table.store, table.options) is None
    committed_at(table, MONDAY, MONDAY + HOUR)
    assert create_batch_tag(table.store, table.options) == "batch-write-2024-01-01"
    committed_at(table, MONDAY + DAY)
    create_batch_tag(table.store, table.options)
    assert made(table) == {"batch-write-2024-01-01": 2, "batch-write-2024-01-02": 3}


@pytest.mark.parametrize("name", ["Mars/Olympus", "+", "GMT8", "../etc/passwd", ""])
def test_an_unknown_time_zone_is_refused(name: str):
    with pytest.raises(ValueError, match="no time zone"):
        zone_of(name)


def test_regions_have_daylight_saving_time():
    july = int(datetime(2024, 7, 1, tzinfo=UTC).timestamp() * 1000)
    assert local_ms(july, zone_of("Europe/Berlin")) - july == 2 * HOUR
    assert local_ms(MONDAY, zone_of("Europe/Berlin")) - MONDAY == HOUR


def test_a_day_may_be_written_in_digits_alone_for_as_long_as_a_tag_can_live():
    options = {**MODE, "tag.period-formatter": "without_dashes", "tag.default-time-retained": "3660000 d"}
    table = a_table(options=options)
    committed_at(table, MONDAY + HOUR)
    assert create_period_tags(table.store, table.options) == ("20231231",)
    assert made(table) == {"20231231": 1}
    with pytest.raises(InvalidIdentifier, match="numeric"):
        TagStore(table.store).create("20240101", table.snapshots.load(1))
    with pytest.raises(InvalidOption, match="default-time-retained"):
        assert TableOptions.parse({"tag.default-time-retained": "9223372036854775807 ms"}).tags
