"""Google Cloud Storage (Java ``GSFileIO``): ``gs://bucket/path``.

``obstore`` does all of it, also directories: pyarrow would take other credentials and another protocol, without limits
on the time of a request.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from table_format.errors import InvalidInputError, InvalidOption
from table_format.extras import require
from table_format.io.marked_directories import MarkedDirectories
from table_format.io.object_store import ObjectStoreFileIO
from table_format.io.request_limits import OBSTORE_LIMITS, with_scheme
from table_format.options.gcs import (
    AUTHENTICATION,
    EMAIL,
    KEY_FILE,
    PRIVATE_KEY,
    PRIVATE_KEY_ID,
    Authentication,
    GcsOptions,
)

_ENDPOINT: Final = "https://storage.googleapis.com"
_PEM: Final = "PRIVATE KEY-----"
_NOBODY: Final = {"disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
"""The key of requests that are not signed: ``skip_signature`` alone holds for reads only."""
_KEY_FILES: Final = ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH")
_KEYS: Final = ("GOOGLE_SERVICE_ACCOUNT_KEY",)


@dataclass(frozen=True, slots=True)
class GcsClients:
    """The connections to Google Cloud Storage; see ``Clients``."""

    options: GcsOptions
    scheme: str = "gs"

    def objects(self, bucket: str) -> Any:  # noqa: ANN401 - a store of the optional obstore
        """Return the ``obstore`` store of a bucket."""
        return self._store(bucket, self._endpoint)

    def mark(self, directory: str) -> Any:  # noqa: ANN401 - a store of the optional obstore
        """Return a store whose object without a name is ``bucket/path/``, the mark of a directory."""
        parent, _, name = directory.rpartition("/")
        return self._store(name, f"{self._endpoint}/{quote(parent)}")

    def file_system(self) -> MarkedDirectories:
        """Return the directories of the store."""
        return MarkedDirectories(self)

    @property
    def _endpoint(self) -> str:
        return with_scheme(self.options.endpoint) or _ENDPOINT

    def _store(self, bucket: str, endpoint: str) -> Any:  # noqa: ANN401 - a store of the optional obstore
        _check_environment(self.options)
        settings = {"skip_signature": False, **_credentials(self.options), "base_url": endpoint}
        return require("obstore").store.GCSStore(bucket, **settings, **OBSTORE_LIMITS)


def open_gcs(options: GcsOptions) -> ObjectStoreFileIO:
    """Open the store; no request is made.

    Raises:
        PackageMissing: obstore is not installed.
        InvalidOption: the options of the service account are incomplete, or contradict each other.
    """
    require("obstore")
    _check(options)
    return ObjectStoreFileIO(GcsClients(options))


def _check(options: GcsOptions) -> None:
    """Refuse options of which one would have no effect."""
    parts = (
        (EMAIL.key, options.email),
        (PRIVATE_KEY_ID.key, options.private_key_id),
        (PRIVATE_KEY.key, options.private_key),
    )
    given = [key for key, value in parts if value is not None]
    missing = [key for key, value in parts if value is None]
    if given and missing:
        raise InvalidOption(missing[0], f"is required, because '{given[0]}' is set")
    if given and _PEM not in _private_key(options):
        raise InvalidOption(PRIVATE_KEY.key, "is not a private key: its text begins with '-----BEGIN PRIVATE KEY-----'")
    if given and options.key_file is not None:
        raise InvalidOption(KEY_FILE.key, f"contradicts '{PRIVATE_KEY.key}': set one of them")
    if options.key_file is not None:
        given.append(KEY_FILE.key)
    match options.authentication:
        case Authentication.SERVICE_ACCOUNT_JSON_KEYFILE if options.key_file is None:
            raise InvalidOption(KEY_FILE.key, f"is required, because '{AUTHENTICATION.key}' asks for a key file")
        case Authentication.APPLICATION_DEFAULT | Authentication.UNAUTHENTICATED if given:
            raise InvalidOption(
                AUTHENTICATION.key, f"is '{options.authentication}', so '{given[-1]}' would have no effect"
            )


def _credentials(options: GcsOptions) -> dict[str, Any]:
    """Return the settings of ``obstore`` by which requests are signed; none for those of the application."""
    if options.authentication is Authentication.UNAUTHENTICATED:
        return {"service_account_key": json.dumps(_NOBODY), "skip_signature": True}
    if options.key_file is not None:
        return {"service_account": options.key_file}
    if options.private_key_id is None:
        return {}
    key = {
        "client_email": options.email,
        "private_key": _private_key(options),
        "private_key_id": options.private_key_id.reveal(),
    }
    return {"service_account_key": json.dumps(key)}


def _check_environment(options: GcsOptions) -> None:
    """Refuse variables by which ``obstore`` would replace the credentials of the options, or contradict them.

    Raises:
        InvalidInputError: names the variable.
    """
    given = _credentials(options)
    refused = [*(() if "service_account" in given else _KEY_FILES), *(() if "service_account_key" in given else _KEYS)]
    for name in refused:
        if name in os.environ:
            message = (
                f"the environment variable {name} would decide who makes the requests to Google Cloud Storage; unset "
                f"it, and set '{KEY_FILE.key}' or the variable GOOGLE_APPLICATION_CREDENTIALS"
            )
            raise InvalidInputError(message)


def _private_key(options: GcsOptions) -> str:
    """Return the private key in lines; they can be separated as in the key file, by a backslash and an ``n``."""
    return "" if options.private_key is None else options.private_key.reveal().replace("\\n", "\n")
