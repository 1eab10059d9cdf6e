"""The options of a warehouse in Azure Blob Storage, and what its URI says."""

from __future__ import annotations

import pickle

import pytest

from table_format import load_catalog
from table_format.errors import InvalidOption
from table_format.options.azure import AzureOptions
from table_format.secrets import Secret

HUSH = "aHVzaA=="
KEY = {"azure.account.key": Secret(HUSH)}
URI = "abfss://lake@shop.dfs.core.windows.net/warehouse"


@pytest.mark.parametrize("scheme", ["abfs", "abfss"])
def test_the_uri_names_the_container_and_the_account(scheme: str) -> None:
    catalog = load_catalog({"warehouse": URI.replace("abfss", scheme), **KEY})
    assert catalog.warehouse == "/lake/warehouse"
    assert catalog.io.clients.account == "shop"


def test_a_short_uri_takes_the_account_of_the_options() -> None:
    catalog = load_catalog({"warehouse": "az://lake/warehouse", "azure.account-name": "shop", **KEY})
    assert (catalog.warehouse, catalog.io.clients.account) == ("/lake/warehouse", "shop")
    assert catalog.io.uri("/lake/warehouse") == "az://lake/warehouse"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"warehouse": "az://lake/w", **KEY}, "azure.account-name"),
        ({"warehouse": URI}, "azure.account.key"),
        ({"warehouse": URI, "azure.account-name": "other", **KEY}, "azure.account-name"),
        ({"warehouse": "abfs://lake/w", **KEY}, "warehouse"),
        ({"warehouse": URI, "azure.acount.key": HUSH}, "azure.acount.key"),
    ],
)
def test_what_is_missing_or_contradicts_is_named_without_the_key(options: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidOption, match=named) as refused:
        load_catalog(options)
    assert HUSH not in str(refused.value)


def test_the_options_are_sent_with_the_key_and_show_none() -> None:
    options = AzureOptions("shop", Secret(HUSH), None)
    assert pickle.loads(pickle.dumps(options)) == options  # noqa: S301 - our own bytes
    assert HUSH not in repr(options)
