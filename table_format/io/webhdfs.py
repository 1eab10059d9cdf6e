"""Requests to HDFS through WebHDFS, the REST interface of every namenode.

A namenode answers questions about names. Bytes go to and come from a datanode, to which the namenode redirects.

A request without an answer is repeated, at the next namenode if there are several: a namenode that is not the active
one refuses everything. Source: hadoop.apache.org, WebHDFS REST API.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from table_format.extras import require
from table_format.io.connections import kept
from table_format.io.hdfs_errors import TryAgain, error_of
from table_format.io.paths import checked_path
from table_format.io.request_limits import CONNECT_SECONDS, REPEATS, REQUEST_SECONDS
from table_format.shown_paths import shown_paths

if TYPE_CHECKING:
    import urllib3

_T = TypeVar("_T")

Status = Mapping[str, Any]
"""A ``FileStatus`` of WebHDFS: ``type``, ``length``, ``modificationTime``, ``pathSuffix``, ``fileId`` ..."""

_FIRST_WAIT_S: Final = 0.1
_REDIRECT: Final = 307
_CREATED: Final = 201
_OK: Final = 200


class _Connections:
    """The connections of this process to a cluster, and the number of the namenode that answered last."""

    def __init__(self) -> None:
        package = require("urllib3")
        limits = package.Timeout(connect=CONNECT_SECONDS, read=REQUEST_SECONDS)
        self.pool: urllib3.PoolManager = package.PoolManager(num_pools=64, maxsize=16, timeout=limits, retries=False)
        self.current = 0


@dataclass(frozen=True, slots=True)
class WebHdfs:
    """The namenodes of one cluster, ``host:port`` each. Holds no connection and can be sent to other processes.

    Paths begin with ``root``, such as ``/namenode:9870``, which is not a part of their names in HDFS.
    """

    root: str
    namenodes: tuple[str, ...]
    user: str

    def ask(self, method: str, path: str, op: str, **parameters: str) -> Mapping[str, Any]:
        """Return the answer of a namenode; the request can be repeated without harm. Raises ``OSError``."""
        return self.repeated(path, lambda namenode: self.ask_one(namenode, method, path, op, **parameters))

    def ask_one(self, namenode: str, method: str, path: str, op: str, **parameters: str) -> Mapping[str, Any]:
        """Return the answer of one namenode to one request."""
        answer = self._pool.request(method, self._url(namenode, path, op, parameters), redirect=False)
        if answer.status != _OK:
            raise error_of(path, namenode, answer.status, answer.data)
        if not answer.data:
            return {}
        found: Mapping[str, Any] = json.loads(answer.data)
        return found

    def read(self, path: str, offset: int, length: int) -> bytes:
        """Return ``length`` bytes of a file, fewer at its end. Raises ``OSError``."""
        wanted = {"offset": str(offset), "length": str(length)}

        def step(namenode: str) -> bytes:
            target = self._datanode(namenode, "GET", path, "OPEN", wanted)
            answer = self._pool.request("GET", target, redirect=False)
            if answer.status != _OK:
                raise error_of(path, urlsplit(target).netloc, answer.status, answer.data)
            return answer.data

        return self.repeated(path, step)

    def write(self, namenode: str, path: str, body: bytes | IO[bytes]) -> None:
        """Write a new file, by one attempt; a failure may leave a part of it. Raises ``OSError`` or ``HTTPError``."""
        target = self._datanode(namenode, "PUT", path, "CREATE", {"overwrite": "false"})
        answer = self._pool.request("PUT", target, body=body, redirect=False, headers=_headers(body))
        if answer.status != _CREATED:
            raise error_of(path, urlsplit(target).netloc, answer.status, answer.data)

    def repeated(self, path: str, step: Callable[[str], _T]) -> _T:
        """Return the result of ``step`` for a namenode; what gets no answer is repeated a few times. Raises
        ``OSError``.
        """
        errors = require("urllib3").exceptions
        left = require("urllib3").Retry(total=REPEATS, backoff_factor=_FIRST_WAIT_S, allowed_methods=None)
        connections = self._connections
        while True:
            number = connections.current % len(self.namenodes)
            try:
                return step(self.namenodes[number])
            except (errors.HTTPError, TryAgain) as error:
                connections.current = number + 1
                try:
                    left = left.increment("PUT", path, error=error)
                except errors.MaxRetryError:
                    raise self._given_up(path, self.namenodes[number], error) from error
                left.sleep()

    def _given_up(self, path: str, namenode: str, error: Exception) -> OSError:
        if isinstance(error, OSError):
            return error
        return OSError(
            errno.EIO, f"no answer through {namenode}: {str(error).partition(chr(10))[0]}", shown_paths(path)
        )

    def _datanode(self, namenode: str, method: str, path: str, op: str, parameters: Mapping[str, str]) -> str:
        """Return the address to which a namenode redirects."""
        answer = self._pool.request(method, self._url(namenode, path, op, parameters), redirect=False)
        if answer.status != _REDIRECT:
            raise error_of(path, namenode, answer.status, answer.data)
        return answer.headers["Location"]

    def _url(self, namenode: str, path: str, op: str, parameters: Mapping[str, str]) -> str:
        query = urlencode({"op": op, "user.name": self.user, **parameters}, quote_via=quote)
        return f"http://{namenode}/webhdfs/v1{quote(self.inner(path) or '/')}?{query}"

    def inner(self, path: str) -> str:
        """Return the name of a path in HDFS; that of the root is empty.

        >>> WebHdfs("/nn:9870", ("nn:9870",), "ann").inner("/nn:9870/w/shop.db")
        '/w/shop.db'

        Raises:
            OSError: the path is not in this cluster.
        """
        if path != self.root and not checked_path(path).startswith(f"{self.root}/"):
            raise OSError(errno.EINVAL, f"expected a path below '{self.root}'", shown_paths(path))
        return path.removeprefix(self.root)

    @property
    def current(self) -> str:
        """The namenode that is asked next."""
        return self.namenodes[self._connections.current % len(self.namenodes)]

    @property
    def _connections(self) -> _Connections:
        return kept(("webhdfs", self.namenodes), _Connections)

    @property
    def _pool(self) -> urllib3.PoolManager:
        return self._connections.pool


def _headers(body: bytes | IO[bytes]) -> dict[str, str]:
    """Return the headers of an upload. Without a length, the body would be sent in pieces, whose end may be lost."""
    if isinstance(body, bytes):
        length = len(body)
    else:
        length = body.seek(0, 2)
        body.seek(0)
    return {"Content-Length": str(length), "Content-Type": "application/octet-stream"}
