"""Keys and other settings that options give, for requests in the protocol of S3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

OF_OPTIONS_ALONE: Final[dict[str, Any]] = {
    "conditional_put": "etag",  # commits depend on it
    "skip_signature": False,
    "s3_express": False,
}
"""Settings that ``obstore`` would otherwise take from ``AWS_CONDITIONAL_PUT``, ``AWS_SKIP_SIGNATURE`` and so on."""


def s3_endpoint(address: str | None) -> dict[str, str]:
    """Return the settings of the address of an S3 store: ``AWS_ENDPOINT_URL_S3`` would precede the first one."""
    return {} if address is None else {"endpoint": address, "aws_endpoint_url_s3": address}


def signed_by(key: str, secret: str, token: str | None) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return the argument of a store of ``obstore`` by which these keys sign each request.

    A key that is an argument of its own is completed from the environment: ``AWS_SESSION_TOKEN`` of other keys would be
    sent with it, and the store would refuse it.
    """
    made = {"access_key_id": key, "secret_access_key": secret, "token": token, "expires_at": None}
    return {"credential_provider": lambda: made}
