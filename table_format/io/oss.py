"""Alibaba Cloud OSS (Java ``OSSFileIO``): ``oss://bucket/path``, by the part of OSS that speaks the protocol of S3.

OSS answers ``If-None-Match`` of a write with "not implemented". Its own condition is ``x-oss-forbid-overwrite: true``,
by which Apache Paimon publishes there, too. OSS ignores it in a bucket whose versions are or were kept.

``obstore`` does all of it, also directories: the client in pyarrow adds checksums to its requests that OSS does not
know.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import quote, urlsplit

from table_format.errors import InvalidOption
from table_format.extras import require
from table_format.io.given_keys import OF_OPTIONS_ALONE, s3_endpoint, signed_by
from table_format.io.marked_directories import MarkedDirectories
from table_format.io.object_store import ObjectStoreFileIO
from table_format.io.request_limits import OBSTORE_LIMITS, with_scheme
from table_format.options.oss import ACCESS_KEY, CNAME, ENDPOINT, SECOND_LEVEL_DOMAIN, SECRET_KEY, OssOptions

_NAME_IS_FREE: Final = {"x-oss-forbid-overwrite": "true"}
_OF_ALIBABA: Final = ("aliyuncs.com", "aliyun-inc.com", "aliyun.com")
_REGION: Final = re.compile(r"(?:s3\.)?oss-([a-z]+-[a-z0-9-]+?)(?:-internal)?\.aliyuncs\.com")
_ANY_REGION: Final = "us-east-1"
"""The region of a request to a domain that names none."""
_KEYS: Final = ("OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET", "OSS_SESSION_TOKEN")


@dataclass(frozen=True, slots=True)
class OssClients:
    """The connections to OSS; see ``Clients``."""

    options: OssOptions
    scheme: str = "oss"

    def objects(self, bucket: str) -> Any:  # noqa: ANN401 - a store of the optional obstore
        """Return the ``obstore`` store of a bucket."""
        return self._store(bucket, address_of(self.options, bucket))

    def creating(self, bucket: str) -> Any:  # noqa: ANN401 - a store of the optional obstore
        """Return the store of a bucket that sends the condition of OSS with every request."""
        return self._store(bucket, address_of(self.options, bucket), _NAME_IS_FREE)

    def mark(self, directory: str) -> Any:  # noqa: ANN401 - a store of the optional obstore
        """Return a store whose object without a name is ``bucket/path/``, the mark of a directory."""
        bucket, _, path = directory.partition("/")
        return self._store(bucket, f"{address_of(self.options, bucket)}/{quote(path)}")

    def file_system(self) -> MarkedDirectories:
        """Return the directories of the store."""
        return MarkedDirectories(self, "overwrite")

    def _store(self, bucket: str, address: str, headers: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401
        limits = dict(OBSTORE_LIMITS)
        if headers is not None:
            limits["client_options"] = {**limits["client_options"], "default_headers": dict(headers)}
        return require("obstore").store.S3Store(
            bucket,
            **s3_endpoint(address),
            virtual_hosted_style_request=True,  # the address has the bucket
            region=_region_of(self.options),
            # A mark cannot be named in a request that deletes many files.
            disable_bulk_delete=True,
            **OF_OPTIONS_ALONE,
            **signed_by(*_keys(self.options)),
            **limits,
        )


def open_oss(options: OssOptions) -> ObjectStoreFileIO:
    """Open the store; no request is made.

    Raises:
        PackageMissing: obstore is not installed.
        InvalidOption: the endpoint or a key is missing, or options contradict each other.
    """
    require("obstore")
    if options.endpoint is None:
        raise InvalidOption(ENDPOINT.key, "is required, such as 'oss-cn-hangzhou.aliyuncs.com'")
    _keys(options)
    _check_address(options)
    return ObjectStoreFileIO(OssClients(options))


def address_of(options: OssOptions, bucket: str) -> str:
    """Return the address of a bucket, as the client of Alibaba makes it from the same options.

    >>> address_of(OssOptions("oss-cn-hangzhou.aliyuncs.com"), "lake")
    'https://lake.oss-cn-hangzhou.aliyuncs.com'
    >>> address_of(OssOptions("http://127.0.0.1:9000"), "lake"), address_of(OssOptions("lake.example.com"), "lake")
    ('http://127.0.0.1:9000/lake', 'https://lake.example.com')
    """
    endpoint = with_scheme(options.endpoint) or ""
    if options.second_level_domain or _is_ip(endpoint):
        return f"{endpoint}/{bucket}"
    if options.cname and not _is_of_alibaba(endpoint):
        return endpoint
    scheme, _, host = endpoint.partition("://")
    return f"{scheme}://{bucket}.{host}"


def _check_address(options: OssOptions) -> None:
    """Refuse an option that has no effect on the address."""
    endpoint = with_scheme(options.endpoint) or ""
    if _is_ip(endpoint) or options.second_level_domain:
        ignored, reason = not options.cname, "the bucket is in the path of a request"
    else:
        ignored, reason = not options.cname and _is_of_alibaba(endpoint), "the endpoint is one of Alibaba's"
    if ignored:
        raise InvalidOption(CNAME.key, f"has no effect: {reason}")
    if urlsplit(endpoint).path:
        raise InvalidOption(
            ENDPOINT.key, f"has a path; if the bucket is in the path of requests, set '{SECOND_LEVEL_DOMAIN.key}'"
        )


def _is_ip(endpoint: str) -> bool:
    try:
        ip_address(_host(endpoint))
    except ValueError:
        return False
    return True


def _is_of_alibaba(endpoint: str) -> bool:
    return any(_host(endpoint).endswith(f".{domain}") for domain in _OF_ALIBABA)


def _host(endpoint: str) -> str:
    return urlsplit(endpoint).hostname or ""


def _region_of(options: OssOptions) -> str:
    found = _REGION.fullmatch(_host(with_scheme(options.endpoint) or ""))
    return options.region or (found[1] if found else _ANY_REGION)


def _keys(options: OssOptions) -> tuple[str, str, str | None]:
    """Return the id and the secret of the key and the token of a session, from the options or the environment."""
    given = (options.access_key, options.secret_key, options.session_token)
    if any(part is not None for part in given):
        key, secret, token = (None if part is None else part.reveal() for part in given)
    else:
        key, secret, token = (os.environ.get(name) for name in _KEYS)
    if key is None or secret is None:
        option, variable = (ACCESS_KEY, _KEYS[0]) if key is None else (SECRET_KEY, _KEYS[1])
        raise InvalidOption(option.key, f"is required; without any key in the options, set {variable}")
    return key, secret, token
