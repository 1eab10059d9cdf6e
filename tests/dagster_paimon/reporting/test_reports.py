"""Plots, progress lines and table health for users."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from xml.etree import ElementTree

import dagster as dg
import pytest

from dagster_paimon.reporting.metadata import health_numbers
from dagster_paimon.reporting.plots import SHOWN_IN_PLACE, Bar, chart
from dagster_paimon.resources.plain_log import plain_log
from dagster_paimon.resources.progress import Pace, Progress
from dagster_paimon.tables.health import LiveFile, health_of
from dagster_paimon.tables.measure import measure
from table_format.model.data_file import EMPTY_ROW, EMPTY_STATS, DataFileMeta
from table_format.model.schema_change import RemoveOption, SetOption
from tests.support.tables import keyed, memory_warehouse


def a_file(level: int, size: int, rows: int = 10) -> DataFileMeta:
    return DataFileMeta(
        file_name="data-x-0.parquet",
        file_size=size,
        row_count=rows,
        min_key=EMPTY_ROW,
        max_key=EMPTY_ROW,
        key_stats=EMPTY_STATS,
        value_stats=EMPTY_STATS,
        min_sequence_number=0,
        max_sequence_number=rows,
        schema_id=0,
        level=level,
    )


def drawn(picture: str) -> ElementTree.Element:
    prefix = "![rows](data:image/svg+xml;base64,"
    assert picture.startswith(prefix)
    return ElementTree.fromstring(b64decode(picture.removeprefix(prefix)[:-1]))  # noqa: S314 - our own text


def test_a_chart_is_well_formed_with_any_labels() -> None:
    bars = [Bar("<day & night>", {"it's": 3.0, "b": 0.0}), Bar("2", {"b": 5e9})]
    root = drawn(chart(bars, caption="rows").value)
    paths = [element for element in root.iter() if element.tag.endswith("path")]
    assert [path.attrib["d"].count("M") for path in paths] == [1, 1]
    assert "<day & night>" in "".join(root.itertext())


def test_an_empty_chart_is_well_formed() -> None:
    assert drawn(chart([], caption="rows").value) is not None


def test_a_chart_of_many_bars_shows_the_last_ones() -> None:
    bars = [Bar(f"snapshot {n}", {("APPEND", "COMPACT")[n % 2]: float(1000 + n)}) for n in range(200)]
    picture = chart(bars, caption="rows").value
    assert len(picture) <= SHOWN_IN_PLACE
    text = "".join(drawn(picture).itertext())
    assert "snapshot 199" in text
    assert "snapshot 0" not in text


def test_bars_are_stacked() -> None:
    root = drawn(chart([Bar("0", {"level 0": 1.0, "level 5": 3.0})], caption="rows").value)
    low, high = [element.attrib["d"] for element in root.iter() if element.tag.endswith("path")]
    assert (low, high) == ("M0 76v-15h32v15", "M0 61v-45h32v45")


def test_progress_is_logged_only_after_some_time() -> None:
    lines: list[str] = []
    times = iter([0.0, 1.0, 4.0, 5.0, 8.0])
    progress = Progress(lines.append, 4, "days", every_seconds=3.0, clock=lambda: next(times))
    for _ in range(4):
        progress.advance()
    assert lines == [
        "[##########----------] 2/4 days, 4 s, about 4 s left",
        "[####################] 4/4 days, 8 s",
    ]


def test_spark_progress_is_logged_when_tasks_end_and_occasionally_otherwise() -> None:
    lines: list[str] = []
    times = iter([0.0, 3.0, 6.0, 9.0, 18.0, 21.0])
    pace = Pace(lines.append, "writing t", clock=lambda: next(times))
    for done in (0, 0, 1, 1, 2):
        pace.report([(done, 2), (0, 0)])
    pace.report([])
    assert [line.split("] ")[1].split(",")[0:2] for line in lines] == [
        ["0/2 Spark tasks", " 3 s"],
        ["1/2 Spark tasks", " 9 s"],
        ["2/2 Spark tasks", " 21 s"],
    ]


def test_health_counts_runs_by_bucket_and_sizes_by_class() -> None:
    files = [
        LiveFile("dt=1/0", a_file(0, 1_000)),
        LiveFile("dt=1/0", a_file(0, 20_000)),
        LiveFile("dt=1/0", a_file(5, 20_000_000)),
        LiveFile("dt=1/1", a_file(5, 300_000)),
        LiveFile("dt=1/1", a_file(5, 300_000)),
    ]
    health = health_of(files, snapshot_id=9, snapshots=4)
    assert (health.buckets, health.level0_files, health.max_sorted_runs, health.small_files) == (2, 2, 3, 4)
    assert health.level_bytes["dt=1/0"] == {"level 0": 21_000, "level 5": 20_000_000}
    assert [health.size_classes[name] for name in ("< 16 KB", "< 128 KB", "< 1 MB", "< 16 MB", "larger")] == [
        1,
        1,
        2,
        0,
        1,
    ]


def test_the_asset_page_shows_how_many_files_have_the_declared_indexes() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table()
    table.append(keyed([(1, "a", 1)]))
    plain = measure(table.facts)
    assert plain.files_without_indexes is None
    assert "file indexes" not in health_numbers(plain)
    wanted = [SetOption("file-index.bsi.columns", "id"), SetOption("file-index.in-manifest-threshold", "0 b")]
    table = warehouse.catalog.alter_table(str(table.identifier), wanted)
    table.append(keyed([(2, "a", 1)]))
    table.append(keyed([(3, "a", 1)]))
    found = health_numbers(measure(table.facts))
    assert found["file indexes"].value == "2 of 3 files have the indexes that the table declares"
    assert found["paimon/files_without_indexes"].value == 1
    before = measure(table.facts)
    table.rewrite_file_index()
    after = measure(warehouse.reopened(table).facts)
    assert (before.files_without_indexes, after.files_without_indexes) == (1, 0)


def test_the_asset_page_shows_indexes_that_the_table_no_longer_declares() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(options={"file-index.bsi.columns": "id", "file-index.in-manifest-threshold": "0 b"})
    table.append(keyed([(1, "a", 1)]))
    wanted = [RemoveOption("file-index.bsi.columns"), RemoveOption("file-index.in-manifest-threshold")]
    table = warehouse.catalog.alter_table(str(table.identifier), wanted)
    assert health_numbers(measure(table.facts))["paimon/files_without_indexes"].value == 1
    table.rewrite_file_index()
    assert measure(warehouse.reopened(table).facts).files_without_indexes is None


def test_an_empty_table_is_healthy() -> None:
    health = health_of([], snapshot_id=None, snapshots=0)
    assert health.numbers == dict.fromkeys(health.numbers, 0)


def test_the_plain_log_shows_messages_and_why_a_step_failed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    @dg.op
    def talks(context) -> None:
        context.log.info("half done")
        context.log.debug("details")

    @dg.op
    def gives_up() -> None:
        try:
            Path("/nowhere/at/all").read_text()
        except OSError as error:
            raise dg.Failure(description="rows of another day", allow_retries=False) from error

    @dg.op
    def breaks() -> None:
        message = "two\nlines"
        raise ValueError(message)

    @dg.job(logger_defs={"plain": plain_log})
    def work() -> None:
        talks()
        gives_up()
        breaks()

    work.execute_in_process(run_config={"loggers": {"plain": {}}}, raise_on_error=False)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "talks  half done" in lines
    assert not any("details" in line or "RUN_START" in line for line in lines)
    for step, reason in (("gives_up", ["rows of another day"]), ("breaks", ["ValueError: two", "lines"])):
        at = lines.index(f'{step}  error: Execution of step "{step}" failed.')
        assert lines[at + 1 : at + 1 + len(reason)] == reason
