"""Errors of WebHDFS as ``OSError`` with a path and a number, as those of files."""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from typing import Final

from table_format.shown_paths import shown_paths

_ERRNO: Final[Mapping[str, int]] = {
    "FileNotFoundException": errno.ENOENT,
    "FileAlreadyExistsException": errno.EEXIST,
    "AccessControlException": errno.EACCES,
    "AuthorizationException": errno.EACCES,
    "SecurityException": errno.EACCES,
    "SafeModeException": errno.EROFS,
    "ParentNotDirectoryException": errno.ENOTDIR,
    "PathIsNotDirectoryException": errno.ENOTDIR,
    "PathIsNotEmptyDirectoryException": errno.ENOTEMPTY,
    "QuotaExceededException": errno.EDQUOT,
    "NSQuotaExceededException": errno.EDQUOT,
    "DSQuotaExceededException": errno.EDQUOT,
    "IllegalArgumentException": errno.EINVAL,
    "InvalidPathException": errno.EINVAL,
    "UnsupportedOperationException": errno.EOPNOTSUPP,
}
"""By the class of Hadoop's ``RemoteException``; that of any other is ``EIO``."""

_ELSEWHERE: Final = frozenset({"StandbyException", "RetriableException", "ObserverRetryOnActiveException"})
"""The namenode is not the active one, or not ready yet: it has done nothing."""

_UNAUTHORIZED: Final = 401
_UNAVAILABLE: Final = frozenset({502, 503, 504})
_NOT_A_FILE: Final = "Path is not a file"


class TryAgain(OSError):
    """A server did not do what it was asked; it, or another one, may do it later."""


def error_of(path: str, host: str, status: int, body: bytes) -> OSError:
    """Return the error that the answer of a server means, in one line with the host and Hadoop's exception.

    >>> body = b'{"RemoteException": {"exception": "SafeModeException", "message": "Name node is in safe mode"}}'
    >>> str(error_of("/nn:9870/w", "nn:9870", 403, body))
    "[Errno 30] SafeModeException of nn:9870: Name node is in safe mode: '/nn:9870/w'"
    """
    found, path = _remote_exception(body), shown_paths(path)
    if found is None:
        if status == _UNAUTHORIZED:
            text = f"{host} asks for a login by Kerberos, which is not supported (HTTP {status})"
            return PermissionError(errno.EACCES, text, path)
        kind = TryAgain if status in _UNAVAILABLE else OSError
        return kind(errno.EIO, f"{host} answered with HTTP status {status}", path)
    name, message = found
    text = f"{name} of {host}: {message.partition(chr(10))[0]}"
    if name in _ELSEWHERE:
        return TryAgain(errno.EAGAIN, text, path)
    if message.startswith(_NOT_A_FILE):
        return IsADirectoryError(errno.EISDIR, text, path)
    return OSError(_ERRNO.get(name, errno.EIO), text, path)


def _remote_exception(body: bytes) -> tuple[str, str] | None:
    try:
        found = json.loads(body)["RemoteException"]
        return str(found["exception"]), str(found.get("message"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
