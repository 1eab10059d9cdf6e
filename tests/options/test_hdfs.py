"""The options of a warehouse in HDFS, and what its URI says."""

from __future__ import annotations

import getpass

import pytest

from table_format import load_catalog
from table_format.errors import InvalidOption
from table_format.shown_paths import shown_paths

ADDRESS = "dfs.namenode.http-address"


@pytest.mark.parametrize(
    ("options", "namenodes"),
    [
        ({"warehouse": "webhdfs://nn:50070/w"}, ("nn:50070",)),
        ({"warehouse": "webhdfs://nn/w/"}, ("nn:9870",)),
        ({"warehouse": "HDFS://nn:8020/w", ADDRESS: "nn:9870"}, ("nn:9870",)),
        ({"warehouse": "hdfs://cluster/w", ADDRESS: "nn1:9870, http://nn2:9870/"}, ("nn1:9870", "nn2:9870")),
        ({"warehouse": "hdfs://cluster/w", f"hadoop.{ADDRESS}": "nn1"}, ("nn1:9870",)),
    ],
)
def test_the_uri_or_an_option_names_the_namenodes(options: dict[str, str], namenodes: tuple[str, ...]) -> None:
    catalog = load_catalog(options)
    assert catalog.io.cluster.namenodes == namenodes
    scheme, _, rest = options["warehouse"].rstrip("/").partition("://")
    assert catalog.warehouse == f"/{rest}"
    assert catalog.io.uri(catalog.warehouse) == f"{scheme.lower()}://{rest}"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"warehouse": "hdfs://nn:8020/w"}, "'dfs.namenode.http-address' is required for 'hdfs://'"),
        ({"warehouse": "webhdfs:///w"}, "names no namenode"),
        ({"warehouse": "webhdfs://ann@nn:9870/w"}, "names a user; give it in the option 'hadoop.username'"),
        ({"warehouse": "/w", "hadoop.user": "ann"}, "'hadoop.user' is not known"),
    ],
)
def test_what_is_missing_or_wrong_is_refused_by_name(options: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        load_catalog(options)
    assert shown_paths("/w/db.db") == "/w/db.db"


def test_the_user_is_that_of_the_option_or_of_hadoops_environment_or_of_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = {"warehouse": "webhdfs://nn/w"}
    monkeypatch.delenv("HADOOP_USER_NAME", raising=False)
    assert load_catalog(place).io.cluster.user == getpass.getuser()
    monkeypatch.setenv("HADOOP_USER_NAME", "hive")
    assert load_catalog(place).io.cluster.user == "hive"
    assert load_catalog({**place, "hadoop.username": "ann"}).io.cluster.user == "ann"
