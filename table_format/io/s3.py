"""Amazon S3, and stores that speak its protocol (Java ``S3FileIO``).

Keys that are not given come from the environment (``AWS_ACCESS_KEY_ID``, ...) or from the role of the machine.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Final

from pyarrow import fs

from table_format.extras import require
from table_format.io.given_keys import OF_OPTIONS_ALONE, s3_endpoint, signed_by
from table_format.io.object_store import ObjectStoreFileIO
from table_format.io.request_limits import CONNECT_SECONDS, OBSTORE_LIMITS, REQUEST_SECONDS, with_scheme
from table_format.options.s3 import S3Options
from table_format.secrets import Secret

_ANY_REGION: Final = "us-east-1"
"""The region of a store that has none."""
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


@dataclass(frozen=True, slots=True)
class S3Clients:
    """The connections to S3; see ``Clients``."""

    options: S3Options
    scheme: str = "s3"

    def objects(self, bucket: str) -> Any:  # noqa: ANN401 - a store of the optional obstore
        """Return the ``obstore`` store of a bucket."""
        settings = {**s3_endpoint(self._endpoint), "region": self._region(bucket), **self._keys}
        return require("obstore").store.S3Store(
            bucket,
            **{name: value for name, value in settings.items() if value is not None},
            virtual_hosted_style_request=not self._path_style,
            **OF_OPTIONS_ALONE,
            **OBSTORE_LIMITS,
        )

    def file_system(self) -> fs.FileSystem:
        """Return the store for pyarrow."""
        options = self.options
        scheme, _, host = (self._endpoint or "").rpartition("://")
        return fs.S3FileSystem(
            endpoint_override=host or None,
            scheme="http" if scheme == "http" else "https",
            access_key=_revealed(options.access_key),
            secret_key=_revealed(options.secret_key),
            session_token=_revealed(options.session_token),
            region=options.region or (_ANY_REGION if host else None),
            force_virtual_addressing=not self._path_style,
            connect_timeout=CONNECT_SECONDS,
            request_timeout=REQUEST_SECONDS,
        )

    @property
    def _keys(self) -> dict[str, Any]:
        key, secret, token = (
            _revealed(part) for part in (self.options.access_key, self.options.secret_key, self.options.session_token)
        )
        if key is not None and secret is not None:
            return dict(signed_by(key, secret, token))
        return {"access_key_id": key, "secret_access_key": secret, "session_token": token}

    @property
    def _endpoint(self) -> str | None:
        return with_scheme(self.options.endpoint or _environment(*_ENDPOINTS))

    @property
    def _path_style(self) -> bool:
        return self._endpoint is not None if self.options.path_style is None else self.options.path_style

    def _region(self, bucket: str) -> str | None:
        if self.options.region is not None or self._endpoint is not None:
            return self.options.region or _ANY_REGION
        return _environment("AWS_REGION", "AWS_DEFAULT_REGION") or fs.resolve_s3_region(bucket)


def open_s3(options: S3Options) -> ObjectStoreFileIO:
    """Open the store; no request is made.

    Raises:
        PackageMissing: obstore is not installed.
    """
    require("obstore")
    return ObjectStoreFileIO(S3Clients(options))


def _environment(*names: str) -> str | None:
    """Return the value of the first variable that is set."""
    return next((value for name in names if (value := os.environ.get(name))), None)


def _revealed(value: Secret | None) -> str | None:
    return None if value is None else value.reveal()
