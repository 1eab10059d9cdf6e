"""Options of a catalog whose warehouse is in Azure Blob Storage (Java ``AzureFileIO``)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.options.declare import Option
from table_format.options.values import optional, secret, text
from table_format.secrets import Secret

ACCOUNT = Option(
    "azure.account-name",
    optional(text),
    None,
    "The storage account. By default that of the warehouse, 'abfs://container@account.dfs.core.windows.net/path'.",
)
ACCOUNT_KEY = Option(
    "azure.account.key",
    optional(secret),
    None,
    "An access key of the storage account. It is required.",
    fallback_keys=("fs.azure.account.key",),
)
ENDPOINT = Option(
    "azure.endpoint",
    optional(text),
    None,
    "Address of a store that is not Microsoft's, such as 'http://localhost:10000' of an emulator.",
)


@dataclass(frozen=True, slots=True)
class AzureOptions:
    """How the store is reached."""

    account: str | None = ACCOUNT.field()
    account_key: Secret | None = ACCOUNT_KEY.field()
    endpoint: str | None = ENDPOINT.field()

    def __reduce__(self) -> tuple[object, ...]:
        # The tasks of an engine need the key, which travels with them.
        key = None if self.account_key is None else self.account_key.reveal()
        return (_restored, (self.account, key, self.endpoint))


def _restored(account: str | None, key: str | None, endpoint: str | None) -> AzureOptions:
    return AzureOptions(account, None if key is None else Secret(key), endpoint)
