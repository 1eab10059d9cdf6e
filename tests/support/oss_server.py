"""A server of this process for Alibaba Cloud OSS, whose requests are counted and can be made to fail.

OSS speaks the protocol of S3, with a condition of its own. So this is the server of ``s3_server`` behind a translation
of the condition, and of the answers to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.s3_server import KEY, SECRET, S3Server, moto_application, serving

_CONDITION = "HTTP_X_OSS_FORBID_OVERWRITE"
_OF_AMAZON = ("HTTP_IF_NONE_MATCH", "HTTP_IF_MATCH")
_TAKEN = b"<Error><Code>FileAlreadyExists</Code></Error>"
_UNKNOWN = b"<Error><Code>NotImplemented</Code></Error>"


@dataclass
class OssServer(S3Server):
    """A running server. ``unsigned`` are the files of conditions that are not part of the signature."""

    deletion: str = "DELETE"
    taken: str = "409 Conflict"
    scheme: str = "oss"
    unsigned: list[str] = field(default_factory=list)

    @property
    def options(self) -> dict[str, str]:
        return {"fs.oss.endpoint": self.endpoint, "fs.oss.accessKeyId": KEY, "fs.oss.accessKeySecret": SECRET}


@dataclass
class _Translated:
    """The application of moto, with the condition of OSS."""

    application: Any
    server: OssServer

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        signature = environ.get("HTTP_AUTHORIZATION", "")
        if environ["REQUEST_METHOD"] in ("PUT", "POST") and any(name in environ for name in _OF_AMAZON):
            return _refused(start_response, "501 Not Implemented", _UNKNOWN)
        if environ["REQUEST_METHOD"] != "PUT" or environ.pop(_CONDITION, "") != "true":
            answer: Iterable[bytes] = self.application(environ, start_response)
            return answer
        if "x-oss-forbid-overwrite" not in signature:
            self.server.unsigned.append(environ["PATH_INFO"])
        return self._created({**environ, "HTTP_IF_NONE_MATCH": "*"}, start_response)

    def _created(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        seen: list[tuple[Any, ...]] = []
        body = [*self.application(environ, lambda *answer: seen.append(answer))]
        if seen[0][0].startswith("412"):
            return _refused(start_response, self.server.taken, _TAKEN)
        start_response(*seen[0])
        return body


def _refused(start_response: Any, status: str, body: bytes) -> Iterable[bytes]:
    start_response(status, [("Content-Length", str(len(body)))])
    return [body]


@contextmanager
def running_oss() -> Iterator[OssServer]:
    """Run a server on a free port."""
    server = OssServer(0)
    with serving(server, _Translated(moto_application(), server)):
        yield server
