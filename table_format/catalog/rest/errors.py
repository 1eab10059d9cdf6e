"""The answers of a REST server that are errors (Java ``ErrorResponse`` and ``DefaultErrorHandler``)."""

from __future__ import annotations

from typing import Final, NoReturn

from table_format.errors import InvalidInputError, MetastoreUnavailable, UnsupportedFeature

BAD_REQUEST: Final = 400
NOT_FOUND: Final = 404
CONFLICT: Final = 409
NOT_IMPLEMENTED: Final = 501

SNAPSHOT: Final = "SNAPSHOT"
TAG: Final = "TAG"
COLUMN: Final = "COLUMN"
DIALECT: Final = "DIALECT"
"""Kinds of what the server does not have, or has already."""


class RequestRefused(MetastoreUnavailable):
    """The server refused a request, which had no effect. ``kind`` and ``name`` are what it does not have, or has."""

    def __init__(self, message: str, *, code: int, reason: str, kind: str = "", name: str = "") -> None:
        self.code = code
        self.reason = reason
        self.kind = kind
        self.name = name
        super().__init__(message)


class Unanswered(MetastoreUnavailable):
    """The server did not answer or failed: the request may have had an effect, or may still have it."""


def raise_others(refused: RequestRefused) -> NoReturn:
    """Raise the error for a refusal that a caller does not expect.

    Raises:
        InvalidInputError: the server calls the request wrong. UnsupportedFeature: it does not support it.
        RequestRefused: anything else, such as a missing permission.
    """
    if refused.code == BAD_REQUEST:
        raise InvalidInputError(str(refused)) from refused
    if refused.code == NOT_IMPLEMENTED:
        raise UnsupportedFeature(refused.reason, str(refused)) from refused
    raise refused
