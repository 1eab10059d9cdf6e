"""How long the libraries wait for an object store, and how often they repeat a request. The same for every store."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

CONNECT_SECONDS: Final = 10
REQUEST_SECONDS: Final = 30
"""A request is given up after this time: less than the time after which a commit is given up."""
REPEATS: Final = 4

OBSTORE_LIMITS: Final[dict[str, Any]] = {
    "client_options": {
        "allow_http": True,
        "connect_timeout": f"{CONNECT_SECONDS}s",
        "timeout": f"{REQUEST_SECONDS}s",
    },
    "retry_config": {"max_retries": REPEATS, "retry_timeout": timedelta(seconds=REQUEST_SECONDS)},
}
"""The arguments of a store of ``obstore``."""


def with_scheme(endpoint: str | None) -> str | None:
    """Return the address of a store with its scheme, which is ``https`` if none is given.

    >>> with_scheme("store.example.com/"), with_scheme("http://localhost:9000"), with_scheme(None)
    ('https://store.example.com', 'http://localhost:9000', None)
    """
    return None if endpoint is None else f"{'' if '://' in endpoint else 'https://'}{endpoint.rstrip('/')}"
