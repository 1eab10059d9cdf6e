"""An S3 server of this process, whose requests are counted and can be made to fail."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pyarrow import fs

KEY, SECRET = "local-key", "local-hush"
_CONDITIONS = ("HTTP_IF_NONE_MATCH", "HTTP_X_GOOG_IF_GENERATION_MATCH", "HTTP_X_OSS_FORBID_OVERWRITE")
_WRITING = frozenset({"PUT", "POST", "DELETE"})


class Fault(StrEnum):
    """What becomes of a request."""

    REFUSED = "503 before"
    TOO_OFTEN = "429 before"
    LOST_ANSWER = "500 after"
    TAKEN = "taken without a file"
    UNCONDITIONAL = "the condition is ignored"
    GONE = "the file to be deleted is gone"


@dataclass(frozen=True)
class Request:
    """A request that the server has seen; ``path`` begins with the bucket, ``query`` is what follows the ``?``."""

    method: str
    path: str
    query: str


@dataclass
class S3Server:
    """A running server. ``options`` are those of a catalog that uses it, ``secret`` is in them.

    ``deletion`` is the method of a request that deletes a file, ``taken`` the answer that a name is taken.
    ``keys`` and ``session_tokens`` are those that it has seen.
    """

    port: int
    requests: list[Request] = field(default_factory=list)
    fault: Callable[[Request], Fault | None] = lambda _: None
    latency_s: float = 0.0
    secret: str = SECRET
    deletion: str = "POST"
    taken: str = "412 Precondition Failed"
    scheme: str = "s3"
    keys: set[str] = field(default_factory=set)
    session_tokens: set[str] = field(default_factory=set)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def options(self) -> dict[str, str]:
        return {"s3.endpoint": self.endpoint, "s3.access-key": KEY, "s3.secret-key": SECRET}

    def make_bucket(self, name: str) -> str:
        """Create a bucket and return its URI."""
        files = fs.S3FileSystem(
            endpoint_override=f"127.0.0.1:{self.port}",
            scheme="http",
            access_key=KEY,
            secret_key=SECRET,
            region="us-east-1",
            allow_bucket_creation=True,
        )
        files.create_dir(name)
        return f"{self.scheme}://{name}"

    @contextmanager
    def counted(self) -> Iterator[list[Request]]:
        """The requests of a block."""
        found: list[Request] = []
        before, self.requests = self.requests, found
        try:
            yield found
        finally:
            self.requests = before

    @contextmanager
    def failing(self, fault: Callable[[Request], Fault | None]) -> Iterator[None]:
        """Let requests of a block fail."""
        before, self.fault = self.fault, fault
        try:
            yield
        finally:
            self.fault = before


@dataclass
class _Watched:
    """An application, with what a network does to requests and answers."""

    application: Any
    server: S3Server

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        request = Request(environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("QUERY_STRING", ""))
        self.server.requests.append(request)
        self.server.keys.update(re.findall(r"Credential=([^/]+)/", environ.get("HTTP_AUTHORIZATION", "")))
        if token := environ.get("HTTP_X_AMZ_SECURITY_TOKEN"):
            self.server.session_tokens.add(token)
        time.sleep(self.server.latency_s)
        fault = self.server.fault(request)
        if fault is Fault.REFUSED:
            return _failure(start_response, "503 Slow Down")
        if fault is Fault.TOO_OFTEN:
            return _failure(start_response, "429 Too Many Requests")
        if fault is Fault.TAKEN:
            return _failure(start_response, self.server.taken)
        if fault is Fault.GONE:
            return _gone(environ, start_response)
        if fault is Fault.UNCONDITIONAL:
            for condition in _CONDITIONS:
                environ.pop(condition, None)
        if fault is Fault.LOST_ANSWER:
            for _ in self.application(environ, lambda *_: None):
                pass
            return _failure(start_response, "500 Internal Server Error")
        answer: Iterable[bytes] = self.application(environ, start_response)
        return answer


@dataclass
class _Moto:
    """The application of moto, which is S3 if it is asked by the path."""

    application: Any
    writing: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        # Moto looks for the file and then stores the new one. In a real store, that is one step.
        with self.writing if environ["REQUEST_METHOD"] in _WRITING else nullcontext():
            answer: Iterable[bytes] = self.application(environ, start_response)
            return answer


def _failure(start_response: Any, status: str) -> Iterable[bytes]:
    start_response(status, [("Content-Length", "0")])
    return [b""]


def _gone(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer a request that deletes several files as Versity does if others delete them at the same moment."""
    keys = re.findall(rb"<Key>[^<]*</Key>", environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
    error = b"<Error>%s<Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>"
    start_response("200 OK", [("Content-Type", "application/xml")])
    return [b"<DeleteResult>", *(error % key for key in keys), b"</DeleteResult>"]


@contextmanager
def running_s3() -> Iterator[S3Server]:
    """Run a server on a free port."""
    server = S3Server(0)
    with serving(server, moto_application()):
        yield server


def moto_application() -> Any:
    """S3 as an application."""
    from moto.server import DomainDispatcherApplication, create_backend_app

    return _Moto(DomainDispatcherApplication(create_backend_app))


@contextmanager
def serving(running: S3Server, application: Any) -> Iterator[None]:
    """Run the server with an application on a free port."""
    from moto.server import MotoRequestHandler
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    watched = _Watched(application, running)
    server = make_server("127.0.0.1", 0, watched, threaded=True, request_handler=MotoRequestHandler)
    running.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
