"""Azure Blob Storage (Java ``AzureFileIO``): ``abfs[s]://container@account.dfs.core.windows.net/path``.

With the option ``azure.account-name``, a warehouse is ``az://container/path``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from pyarrow import fs

from table_format.errors import InvalidOption
from table_format.extras import require
from table_format.io.object_store import ObjectStoreFileIO
from table_format.io.request_limits import OBSTORE_LIMITS, with_scheme
from table_format.options.azure import ACCOUNT, ACCOUNT_KEY, AzureOptions
from table_format.options.catalog import WAREHOUSE

_LOCATION: Final = re.compile(r"(?i:abfss?)://([^/@]+)@([a-z0-9]+)\.dfs\.core\.windows\.net(/.*)?")


@dataclass(frozen=True, slots=True)
class AzureClients:
    """The connections to one storage account; see ``Clients``."""

    account: str
    options: AzureOptions
    scheme: str = "az"

    def objects(self, bucket: str) -> Any:  # noqa: ANN401 - a store of the optional obstore
        """Return the ``obstore`` store of a container."""
        of_azure = f"https://{self.account}.blob.core.windows.net"
        made = {"access_key": self._key, "expires_at": None}
        # All are given: else variables such as AZURE_STORAGE_USE_EMULATOR and AZURE_STORAGE_TOKEN decide.
        return require("obstore").store.AzureStore(
            bucket,
            account_name=self.account,
            credential_provider=lambda: made,
            endpoint=of_azure if self._endpoint is None else f"{self._endpoint}/{self.account}",
            use_emulator=False,
            skip_signature=False,
            **OBSTORE_LIMITS,
        )

    def file_system(self) -> fs.FileSystem:
        """Return the account for pyarrow."""
        if self._endpoint is None:
            return fs.AzureFileSystem(self.account, account_key=self._key)
        scheme, _, host = self._endpoint.partition("://")
        authorities: dict[str, Any] = {"blob_storage_authority": host, "dfs_storage_authority": host}
        # The type stubs misspell these two.
        schemes: dict[str, Any] = {"blob_storage_scheme": scheme, "dfs_storage_scheme": scheme}
        return fs.AzureFileSystem(self.account, account_key=self._key, **authorities, **schemes)

    @property
    def _key(self) -> str | None:
        return None if self.options.account_key is None else self.options.account_key.reveal()

    @property
    def _endpoint(self) -> str | None:
        return with_scheme(self.options.endpoint)


def open_azure(options: AzureOptions) -> ObjectStoreFileIO:
    """Open the store; no request is made.

    Raises:
        PackageMissing: obstore is not installed.
        InvalidOption: the account or its key is missing.
    """
    require("obstore")
    if options.account is None:
        raise InvalidOption(ACCOUNT.key, f"is required: the account that has the container of '{WAREHOUSE.key}'")
    if options.account_key is None:
        raise InvalidOption(ACCOUNT_KEY.key, f"is required: an access key of the account '{options.account}'")
    return ObjectStoreFileIO(AzureClients(options.account, options))


def azure_path(uri: str) -> str:
    """Return the container and the path that the URI of a warehouse names, as an absolute path.

    >>> azure_path("abfs://lake@shop.dfs.core.windows.net/w/"), azure_path("az://lake/w")
    ('/lake/w', '/lake/w')

    Raises:
        InvalidOption: the URI does not name a container and an account of Azure.
    """
    if uri.lower().startswith("az://"):
        return "/" + uri.partition("://")[2].strip("/")
    container, _, path = _located(uri)
    return f"/{container}{path}"


def with_account_of(options: AzureOptions, uri: str) -> AzureOptions:
    """Return the options with the account that the URI of the warehouse names.

    Raises:
        InvalidOption: the options name another one.
    """
    if uri.lower().startswith("az://"):
        return options
    _, account, _ = _located(uri)
    if options.account not in (None, account):
        raise InvalidOption(ACCOUNT.key, f"is {options.account!r}, but the warehouse is in the account {account!r}")
    return replace(options, account=account)


def _located(uri: str) -> tuple[str, str, str]:
    found = _LOCATION.fullmatch(uri)
    if found is None:
        message = "expected 'abfs://container@account.dfs.core.windows.net/path' or 'az://container/path'"
        raise InvalidOption(WAREHOUSE.key, message)
    return found[1], found[2], (found[3] or "").rstrip("/")
