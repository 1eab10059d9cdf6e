"""Calls of a Hive metastore, and the connections that carry them: one pool per process and metastore.

Thrift's binary protocol, without SASL. A ``Metastore`` is a value. It can be sent to other processes, which connect
when they use it.
"""

from __future__ import annotations

import getpass
import os
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from table_format.catalog.hive.address import Address
from table_format.errors import MetastoreUnavailable
from table_format.extras import require

_CONNECT_SECONDS: Final = 10
_ANSWER_SECONDS: Final = 600
"""As Java's client: a metastore may have to create or look for a directory in a slow store."""
_LONGEST_MESSAGE: Final = 500
_MODULE: Final = "metastore_thrift"
_THRIFT_LOCK = threading.Lock()
"""The parser of Thrift is not made for threads."""


class Refused(MetastoreUnavailable):
    """The metastore has answered with an error, and has done nothing. ``kind`` is the name of the Thrift exception."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


def thrift() -> Any:  # noqa: ANN401 - a module that Thrift makes
    """Return the structures and the service of a metastore.

    Raises:
        PackageMissing: the package is missing; the message names the extra.
    """
    with _THRIFT_LOCK:
        return _loaded()


@cache
def _loaded() -> Any:  # noqa: ANN401 - a module that Thrift makes
    path = Path(__file__).with_name("metastore.thrift")
    return require("thriftpy2").load(str(path), module_name=_MODULE)


def _part_of_thrift(name: str) -> Any:  # noqa: ANN401 - a module
    require("thriftpy2")
    return import_module(f"thriftpy2.{name}")


@dataclass(frozen=True, slots=True)
class Metastore:
    """The servers of a metastore in the order in which they are tried, and how many connections are kept open."""

    addresses: tuple[Address, ...]
    connections: int = 2

    def __str__(self) -> str:
        return ", ".join(map(str, self.addresses))

    def read(self, method: str, *arguments: object) -> Any:  # noqa: ANN401 - what the method returns
        """Call a method that may be repeated. If a connection breaks, the call is repeated once on a new one.

        Raises:
            Refused: the metastore has answered with an error. MetastoreUnavailable: it cannot be reached.
        """
        with suppress(_Broken):
            return self._call(method, arguments, self._pool().take())
        return self.change(method, *arguments)

    def change(self, method: str, *arguments: object) -> Any:  # noqa: ANN401 - what the method returns
        """Call a method that changes something, once.

        Raises:
            Refused: the metastore has answered with an error. MetastoreUnavailable: it cannot be reached, or has not
                answered; it may have made the change.
        """
        try:
            return self._call(method, arguments, self._pool().take())
        except _Broken as broken:
            error = broken.__cause__
            message = f"the Hive metastore, {self}: '{method}' got no answer ({_text(error)})"
            raise MetastoreUnavailable(message) from error

    def _call(self, method: str, arguments: Sequence[object], client: Any) -> Any:  # noqa: ANN401
        if client is None:
            client = self._connect()
        errors = _part_of_thrift("thrift")
        try:
            answer = getattr(client, method)(*arguments)
        except errors.TApplicationException as error:
            client.close()
            message = f"the Hive metastore, {self}: '{method}' failed: {_text(error)}"
            raise Refused(message, type(error).__name__) from error
        except errors.TException as error:
            if not type(error).__module__.startswith(_MODULE):
                client.close()
                raise _Broken from error
            self._pool().give_back(client)
            message = f"the Hive metastore, {self}: {type(error).__name__}: {_text(error)}"
            raise Refused(message, type(error).__name__) from error
        except OSError as error:
            client.close()
            raise _Broken from error
        except BaseException:
            client.close()  # the rest of its answer would be taken for that of the next call
            raise
        self._pool().give_back(client)
        return answer

    def _connect(self) -> Any:  # noqa: ANN401 - a client of Thrift
        failures = []
        for address in self.addresses:
            try:
                return _connected(address)
            except (OSError, _part_of_thrift("thrift").TException) as error:
                failures.append((address, error))
        reasons = "; ".join(f"{address}: {_text(error)}" for address, error in failures)
        message = (
            f"the Hive metastore cannot be reached: {reasons}. Check 'uri'; a metastore that asks for Kerberos (SASL) "
            "or TLS is not supported"
        )
        raise MetastoreUnavailable(message) from failures[-1][1]

    def _pool(self) -> _Pool:
        with _LOCK:
            return _POOLS.setdefault(self, _Pool(self.connections))


class _Broken(Exception):
    """A connection broke during a call; whether the call was carried out is not known."""


def _connected(address: Address) -> Any:  # noqa: ANN401 - a client of Thrift
    thriftpy2 = _part_of_thrift("rpc")
    connection = socket.create_connection((address.host, address.port), timeout=_CONNECT_SECONDS)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport = thriftpy2.TBufferedTransportFactory().get_transport(thriftpy2.TSocket(sock=connection))
        protocol = thriftpy2.TBinaryProtocolFactory().get_protocol(transport)
        client = thriftpy2.TClient(thrift().ThriftHiveMetastore, protocol)
        # As Java's client: the metastore accesses files as this user. The first answer must come soon.
        client.set_ugi(user_name(), [])
        connection.settimeout(_ANSWER_SECONDS)
    except BaseException:
        connection.close()
        raise
    return _Client(client, connection)


class _Client:
    """A connection and its calls."""

    def __init__(self, client: Any, connection: socket.socket) -> None:  # noqa: ANN401 - of Thrift
        self._client = client
        self.connection = connection

    def __getattr__(self, method: str) -> Any:  # noqa: ANN401 - a call
        return getattr(self._client, method)

    def is_usable(self) -> bool:
        """Return whether the server has neither closed the connection nor sent what nobody asked for."""
        try:
            self.connection.setblocking(False)
            self.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            self.connection.settimeout(_ANSWER_SECONDS)
            return True
        except OSError:
            pass
        return False

    def close(self) -> None:
        """Close the connection."""
        with suppress(OSError):
            self.connection.close()


def user_name() -> str:
    """Return the user of this process, who owns what it creates. As in Java, ``HADOOP_USER_NAME`` is another one."""
    try:
        return os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    except (KeyError, OSError):  # a container may have no name for its user
        return "unknown"


def _text(error: BaseException | None) -> str:
    """Return the message of an error as one line of limited length."""
    text = " ".join(str(getattr(error, "message", None) or error or "").split())
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."


# --- the pools of this process ----------------------------------------------------------------------------------------


class _Pool:
    """Connections that no call uses."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._idle: list[_Client] = []
        self._lock = threading.Lock()

    def take(self) -> _Client | None:
        """Return a connection, or ``None`` if a new one is needed."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                client = self._idle.pop()
            if client.is_usable():
                return client
            client.close()

    def give_back(self, client: _Client) -> None:
        """Keep a connection, or close it if enough are kept."""
        with self._lock:
            if len(self._idle) < self._size:
                self._idle.append(client)
                return
        client.close()


_POOLS: Final[dict[Metastore, _Pool]] = {}
_LEFT_TO_PARENT: Final[list[Mapping[Metastore, _Pool]]] = []
_LOCK = threading.Lock()


def _forget_connections() -> None:
    """In a forked process: leave the connections to the parent, which uses them, and open others when needed."""
    global _LOCK, _THRIFT_LOCK
    _LOCK, _THRIFT_LOCK = threading.Lock(), threading.Lock()
    _LEFT_TO_PARENT.append(dict(_POOLS))  # nothing closes them here
    _POOLS.clear()


os.register_at_fork(after_in_child=_forget_connections)
