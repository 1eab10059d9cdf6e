"""A path in a remote store is shown by the URI of its root, wherever a text has it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from table_format import errors, shown_paths
from table_format.errors import MissingFile, TableNotFound
from table_format.io.stores import STORES


@pytest.fixture(autouse=True)
def roots(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(shown_paths, "_URIS", {})
    yield
    monkeypatch.undo()


def test_the_longest_root_gives_the_uri_and_other_paths_stay() -> None:
    for uri in ("s3a://lake/w/", "s3://lake", "hdfs://nn:9870/w"):
        STORES[uri.partition(":")[0]].place_of(uri)
    shown = shown_paths.shown_paths
    assert shown("/lake/w/a, /lake/x; '/lake/w2/a'") == "s3a://lake/w/a, s3://lake/x; 's3://lake/w2/a'"
    assert shown("/nn:9870/w/t has no schema") == "hdfs://nn:9870/w/t has no schema"
    for text in ("s3://lake/w", "/other/lake/w", "/lakes/w", "./lake/w", "a/lake/w", ""):
        assert shown(text) == text


def test_a_root_that_is_also_on_this_machine_stays() -> None:
    STORES["s3"].place_of("s3://data/warehouse")
    assert shown_paths.shown_paths("/data/warehouse/t") == "s3://data/warehouse/t"
    STORES["file"].place_of("/data/warehouse")
    STORES["s3"].place_of("s3://data/warehouse")
    assert shown_paths.shown_paths("/data/warehouse/t") == "/data/warehouse/t"


def test_every_error_of_the_library_shows_uris_and_keeps_the_path() -> None:
    STORES["s3"].place_of("s3://lake/w")
    missing = MissingFile("/lake/w/t/bucket-0/data-1.orc")
    assert str(missing).startswith("s3://lake/w/t/bucket-0/data-1.orc: ")
    assert missing.path == "/lake/w/t/bucket-0/data-1.orc"
    assert str(TableNotFound("the table at /lake/w/t was dropped")) == "the table at s3://lake/w/t was dropped"
    assert str(errors.InvalidOption("warehouse", "'/lake/w' is wrong")) == "option 'warehouse': 's3://lake/w' is wrong"


def test_a_uri_is_shown_without_its_secrets() -> None:
    STORES["s3"].place_of("s3://lake/w?token=hush")
    assert "hush" not in shown_paths.shown_paths("/lake/w?token=hush/t")
