"""The demo as a user runs it: it succeeds, reports its steps, and can be run again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.resources.spark import SparkResource
from jobs.demo import main
from jobs.demo_report import content_digest
from tests.queries.sessions import settings_of
from tests.support.spark_session import INTERPRETED

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "dagster_home"
    home.mkdir()
    shutil.copy(ROOT / ".dagster_home" / "dagster.yaml", home)
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    # The demo sets these for the code location; here they are put back afterwards.
    monkeypatch.setenv("LAKEHOUSE_WAREHOUSE", "")
    monkeypatch.setenv("LAKEHOUSE_LANDING", "")
    return tmp_path / "warehouse"


@pytest.mark.dagster
@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::dagster.PreviewWarning")
def test_running_the_demo_twice_gives_the_same_tables(warehouse: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["--days", "2", "--events", "60", "--warehouse", str(warehouse)]
    lakehouse = LakehouseCatalog(warehouse=str(warehouse))
    contents = []
    for _ in range(2):
        with settings_of(SparkResource().session(), INTERPRETED):
            assert main(arguments) == 0
        contents.append([content_digest(lakehouse, name) for name in ("dwd.orders", "dwd.users")])
        shown = capfd.readouterr().out
        assert "[10/10] every asset check" in shown
        assert "34 of 34 checks passed" in shown
        assert "the same rows as before" in shown
        assert f"LAKEHOUSE_WAREHOUSE={warehouse} make ui" in shown
    assert contents[0] == contents[1]
    assert contents[0][0].rows > 30


def test_the_external_writer_needs_no_spark(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["write-clicks", "--events", "25", "--warehouse", str(warehouse)]) == 0
    assert "ext.web_clicks: snapshot 1 with 25 clicks" in capsys.readouterr().out
    assert LakehouseCatalog(warehouse=str(warehouse)).table("ext.web_clicks").scan().to_arrow().num_rows == 25


@pytest.mark.parametrize("arguments", [["--days", "0"], ["--days", "32"], ["--events", "5"], ["sell-clicks"]])
def test_invalid_arguments_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2
    assert "python -m jobs.demo" in capsys.readouterr().err
