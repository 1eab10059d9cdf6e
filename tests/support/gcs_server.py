"""A server of this process for Google Cloud Storage, whose requests are counted and can be made to fail.

Google's XML interface lists objects and takes uploads in parts as S3 does. Headers have other names, and the deletion
of a file that does not exist fails. So this is the server of ``s3_server`` behind a translation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from typing import Any

from tests.support.s3_server import S3Server, moto_application, serving

EMAIL, KEY_ID = "lake@project.iam.gserviceaccount.com", "local-key"
_CONDITION = "HTTP_X_GOOG_IF_GENERATION_MATCH"
_SIGNED = "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=s"
"""Moto forbids some requests of nobody. It does not check the signature."""


@cache
def _private_key() -> str:
    from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    made = generate_private_key(65537, 2048)
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@dataclass
class GcsServer(S3Server):
    """A running server, which takes any token; ``tokens`` are those that it has seen."""

    secret: str = field(default_factory=_private_key)
    deletion: str = "DELETE"
    scheme: str = "gs"
    tokens: set[str] = field(default_factory=set)

    @property
    def options(self) -> dict[str, str]:
        return {
            "fs.gs.storage.root.url": self.endpoint,
            "fs.gs.auth.service.account.email": EMAIL,
            "fs.gs.auth.service.account.private.key.id": KEY_ID,
            "fs.gs.auth.service.account.private.key": self.secret,
        }


@dataclass
class _Translated:
    """The application of moto, by the words of Google."""

    application: Any
    server: GcsServer

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self._note_token(environ)
        # Moto takes the name of a bucket as it was sent.
        bucket, slash, name = environ["RAW_URI"].lstrip("/").partition("/")
        environ["RAW_URI"] = f"/{bucket.replace('%2D', '-')}{slash}{name}"
        if environ.get(_CONDITION) == "0":
            environ["HTTP_IF_NONE_MATCH"] = "*"
        for name in [name for name in environ if name.startswith("HTTP_X_GOOG_")]:
            environ[name.replace("HTTP_X_GOOG_", "HTTP_X_AMZ_")] = environ.pop(name)
        if environ["REQUEST_METHOD"] == "DELETE" and not self._exists(environ):
            start_response("404 Not Found", [("Content-Length", "0")])
            return [b""]
        answer: Iterable[bytes] = self.application(environ, _in_words_of_google(start_response))
        return answer

    def _note_token(self, environ: dict[str, Any]) -> None:
        token = environ.get("HTTP_AUTHORIZATION", "").removeprefix("Bearer ")
        if not token.startswith("AWS"):  # as the tests themselves, which make buckets
            environ["HTTP_AUTHORIZATION"] = _SIGNED
            self.server.tokens.add(token)

    def _exists(self, environ: dict[str, Any]) -> bool:
        if environ.get("QUERY_STRING"):
            return True  # an upload in parts
        seen: list[str] = []
        asked = {**environ, "REQUEST_METHOD": "HEAD"}
        for _ in self.application(asked, lambda status, *_: seen.append(status)):
            pass
        return seen[0].startswith(str(HTTPStatus.OK.value))


def _in_words_of_google(start_response: Any) -> Callable[..., Any]:
    def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
        return start_response(status, [(name.replace("x-amz-", "x-goog-"), value) for name, value in headers], *rest)

    return start


@contextmanager
def running_gcs() -> Iterator[GcsServer]:
    """Run a server on a free port."""
    server = GcsServer(0)
    with serving(server, _Translated(moto_application(), server)):
        yield server
