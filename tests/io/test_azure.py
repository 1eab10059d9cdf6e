"""Requests to Azure Blob Storage: what the options say of them stands against the environment."""

from __future__ import annotations

import pytest

from table_format.io.azure import open_azure
from table_format.options.azure import AzureOptions
from table_format.options.declare import parse_group


def test_where_requests_go_and_who_signs_them_is_not_for_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_STORAGE_USE_EMULATOR", "AZURE_SKIP_SIGNATURE"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", "http://elsewhere")
    monkeypatch.setenv("AZURE_STORAGE_TOKEN", "of another program")
    options = parse_group(AzureOptions, {"azure.account-name": "shop", "azure.account.key": "aGk="})
    store = open_azure(options).clients.objects("lake")
    assert store.config == {
        "account_name": "shop",
        "container_name": "lake",
        "endpoint": "https://shop.blob.core.windows.net",
        "skip_signature": "false",
        "use_emulator": "false",
    }
    assert store.credential_provider() == {"access_key": "aGk=", "expires_at": None}
