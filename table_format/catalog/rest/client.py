"""Requests to a REST server (Java ``HttpClient`` and ``ExponentialHttpRequestRetryStrategy``).

A ``RestClient`` is a value. It can be sent to other processes, which connect when they use it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus, urlencode

from table_format.catalog.rest.errors import NOT_FOUND, RequestRefused, Unanswered, raise_others
from table_format.errors import MetastoreUnavailable
from table_format.extras import require
from table_format.io.connections import kept
from table_format.io.request_limits import CONNECT_SECONDS, REQUEST_SECONDS
from table_format.runtime import Runtime
from table_format.secrets import Secret, redact

if TYPE_CHECKING:
    import urllib3

Json = Mapping[str, Any]

_REPEATS: Final = 5
_LONGEST_WAIT_S: Final = 64
_BUSY: Final = frozenset({429, 503})
_SUCCESS: Final = frozenset({200, 202, 204})
_FIRST_OF_SERVER: Final = 500
_NOT_IMPLEMENTED: Final = 501
_SHOWN: Final = 500
"""How many characters of an error are shown."""
_NAMES: Final = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    409: "Already exists",
    501: "Not supported",
    503: "Unavailable",
}


@dataclass(frozen=True, slots=True, repr=False)
class RestClient:
    """A server, and what each request carries. ``prefix`` follows ``/v1``, if the server has named one."""

    address: str
    token: Secret
    headers: tuple[tuple[str, Secret], ...] = ()
    prefix: str | None = None
    runtime: Runtime = field(default_factory=Runtime, compare=False)

    def __repr__(self) -> str:
        return f"RestClient({self.address!r})"

    def __reduce__(self) -> tuple[object, ...]:
        # The process that commits may be another one, so the token travels with the table, as the keys of a store do.
        revealed = tuple((name, value.reveal()) for name, value in self.headers)
        return (_restored, (self.address, self.token.reveal(), revealed, self.prefix, self.runtime))

    def with_config(self, prefix: str | None, headers: Mapping[str, Secret]) -> RestClient:
        """Return the client with the prefix that the server has named, and other headers."""
        return replace(self, prefix=prefix, headers=tuple(headers.items()))

    def get(self, *path: str, **query: str) -> Json:
        """Return an answer. Raises as ``send``."""
        return self.send("GET", path, query=query)

    def find(self, *path: str) -> Json | None:
        """Return an answer; ``None`` if the server has nothing of this path.

        Raises:
            InvalidInputError, UnsupportedFeature, MetastoreUnavailable: as ``raise_others`` and ``send``.
        """
        try:
            return self.get(*path)
        except RequestRefused as refused:
            if refused.code == NOT_FOUND:
                return None
            raise_others(refused)

    def post(self, *path: str, body: Json) -> Json:
        """Send an object, and return the answer. Raises as ``send``."""
        return self.send("POST", path, body=body)

    def delete(self, *path: str) -> None:
        """Delete what has the path. Raises as ``send``."""
        self.send("DELETE", path)

    def listed(self, member: str, *path: str, **query: str) -> Iterator[Any]:
        """Yield the items of a list that the server gives in pages. Raises as ``send``."""
        token = ""
        while True:
            page = self.get(*path, **query, **({"pageToken": token} if token else {}))
            items = page.get(member) or ()
            yield from items
            token = page.get("nextPageToken") or ""
            if not token or not items:
                return

    def send(
        self,
        method: str,
        path: tuple[str, ...],
        *,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        give_up_ms: int | None = None,
    ) -> Json:
        """Return the answer to a request; the parts of a path may have any characters.

        It is not repeated after the monotonic time ``give_up_ms``.

        Raises:
            RequestRefused: the server refused it. Unanswered: it is not known whether it had an effect.
            MetastoreUnavailable: the server cannot be reached.
        """
        parts = ("v1", *(() if self.prefix is None else (self.prefix,)), *path)
        place = "/" + "/".join(map(quote_plus, parts))
        what = f"{method} {self.address}{place}"
        url = self.address + place + (f"?{urlencode(query)}" if query else "")
        sent = None if body is None else json.dumps(body).encode()
        answer = self._answer(what, method, url, sent, give_up_ms)
        data = answer.data or b""
        if answer.status not in _SUCCESS:
            raise self._error(what, answer.status, data)
        if not data:
            return {}
        found = _object(data)
        if found is None:
            message = f"the REST catalog: {what}: expected a JSON object, found {len(data)} other bytes"
            raise Unanswered(message)
        return found

    def _answer(
        self, what: str, method: str, url: str, body: bytes | None, give_up_ms: int | None
    ) -> urllib3.BaseHTTPResponse:
        """Return the first answer other than that the server is busy; the last one after some repetitions."""
        errors, repeats, clock = require("urllib3").exceptions, 0, self.runtime.clock
        headers = {name: value.reveal() for name, value in self.headers}
        headers["Authorization"] = f"Bearer {self.token.reveal()}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        while True:
            try:
                pool = self._pool
            except OSError as error:
                raise MetastoreUnavailable(self._shown(what, error.strerror or str(error))) from error
            try:
                answer = pool.request(method, url, body=body, headers=headers, redirect=False)
            except (errors.NewConnectionError, errors.NameResolutionError, errors.ConnectTimeoutError) as error:
                raise MetastoreUnavailable(self._shown(what, f"the server cannot be reached: {error}")) from error
            except errors.HTTPError as error:
                # The server closes connections that are idle. Only what changes nothing is asked again.
                if method != "GET" or not isinstance(error, errors.ProtocolError) or repeats >= _REPEATS:
                    raise Unanswered(self._shown(what, f"the server did not answer: {error}")) from error
                wait_ms = self._wait_ms(repeats, None)
            else:
                wait_ms = self._wait_ms(repeats, answer.headers.get("Retry-After"))
                is_late = give_up_ms is not None and clock.monotonic_ms() + wait_ms >= give_up_ms
                if answer.status not in _BUSY or repeats >= _REPEATS or is_late:
                    return answer
            clock.sleep_ms(wait_ms)
            repeats += 1

    def _wait_ms(self, repeats: int, wanted: str | None) -> int:
        if wanted is not None:
            package = require("urllib3")
            try:
                seconds = package.Retry().parse_retry_after(wanted)
            except package.exceptions.InvalidHeader:
                seconds = 0
            if seconds > 0:
                return int(min(seconds, _LONGEST_WAIT_S) * 1000)
        return int(min(1 << repeats, _LONGEST_WAIT_S) * 1000 * (1 + 0.1 * self.runtime.random.random()))

    def _error(self, what: str, status: int, data: bytes) -> MetastoreUnavailable:
        found = _object(data) or {}
        reason = found.get("message")
        if reason:
            status = found.get("code") or status
        else:
            reason = data.decode("utf-8", "replace") or "no reason is given"
        message = self._shown(what, f"{status} {_name_of(status)}: {reason}")
        if status >= _FIRST_OF_SERVER and status != _NOT_IMPLEMENTED:
            return Unanswered(message)
        kind, name = found.get("resourceType") or "", found.get("resourceName") or ""
        return RequestRefused(message, code=status, reason=str(reason), kind=kind, name=name)

    def _shown(self, what: str, why: str) -> str:
        line = " ".join(f"the REST catalog: {what}: {why}".split())
        return redact(line, [self.token, *(value for _, value in self.headers)])[:_SHOWN]

    @property
    def _pool(self) -> urllib3.PoolManager:
        return kept(("rest", self.address), _new_pool)


def _new_pool() -> urllib3.PoolManager:
    package = require("urllib3")
    limits = package.Timeout(connect=CONNECT_SECONDS, read=REQUEST_SECONDS)
    found: urllib3.PoolManager = package.PoolManager(maxsize=16, timeout=limits, retries=False)
    return found


def _restored(
    address: str, token: str, headers: tuple[tuple[str, str], ...], prefix: str | None, runtime: Runtime
) -> RestClient:
    return RestClient(address, Secret(token), tuple((name, Secret(value)) for name, value in headers), prefix, runtime)


def _object(data: bytes) -> Json | None:
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _name_of(status: int) -> str:
    return _NAMES.get(status, "Server error" if status >= _FIRST_OF_SERVER else "Refused")
