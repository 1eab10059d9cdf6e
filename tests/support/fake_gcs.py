"""fake-gcs-server, an emulator of Google Cloud Storage written by others, behind a server that takes XML uploads.

The emulator knows conditions on generations, metadata, copies and uploads by the JSON interface only, and ``obstore``
sends all requests by XML. This server passes on reads, lists and deletions as they are, and turns the others into
requests of JSON. The emulator decides on their conditions. Uploads in parts are put together here. Requests of JSON,
which Hadoop makes, are passed on.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode

import urllib3

from tests.oracle.install import FAKE_GCS_PROGRAM
from tests.support.gcs_server import GcsServer
from tests.support.other_servers import PROGRAMS, free_port, running_program
from tests.support.s3_server import serving

_META = "HTTP_X_GOOG_META_"
_JSON = ("/storage/", "/upload/", "/download/", "/batch/")
_KEPT = ("Location", "Content-Type", "Content-Range", "Etag", "Last-Modified", "X-Goog-Generation")
_NO_BUCKET = b"<Error><Code>NoSuchBucket</Code></Error>"
_BOUNDARY = "parts-of-json-uploads"


@dataclass
class FakeGcs(GcsServer):
    """A running emulator; requests by JSON go to ``json_endpoint``."""

    json_endpoint: str = ""

    def make_bucket(self, name: str) -> str:
        """Create a bucket and return its URI."""
        made = urllib3.request("POST", f"{self.json_endpoint}/storage/v1/b", json={"name": name})
        assert made.status == 200, made.data
        return f"{self.scheme}://{name}"


@dataclass(frozen=True)
class _Object:
    """What a request is about."""

    bucket: str
    name: str

    @classmethod
    def of(cls, path: str) -> _Object:
        bucket, _, name = unquote(path).lstrip("/").partition("/")
        return cls(bucket, name)

    @property
    def path(self) -> str:
        return f"/b/{self.bucket}/o/{quote(self.name, safe='')}"


@dataclass
class _Answer:
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass
class _ByJson:
    """Answers requests of XML by the emulator."""

    endpoint: str
    pool: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(maxsize=32, retries=False))
    parts: dict[str, dict[int, bytes]] = field(default_factory=lambda: defaultdict(dict))
    numbers: Iterator[int] = field(default_factory=count)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        answer = self._answer(environ)
        length = answer.headers.pop("Content-Length", str(len(answer.body)))
        start_response(f"{answer.status} .", [*answer.headers.items(), ("Content-Length", length)])
        return [answer.body]

    def _answer(self, environ: dict[str, Any]) -> _Answer:
        path, _, text = environ["REQUEST_URI"].partition("?")
        query = parse_qs(text, keep_blank_values=True)
        wanted = _Object.of(path)
        data = _body(environ)
        if path.startswith(_JSON):
            return self._passed_on(environ["REQUEST_METHOD"], environ, data)
        match environ["REQUEST_METHOD"]:
            case "PUT" if "partNumber" in query:
                self.parts[query["uploadId"][0]][int(query["partNumber"][0])] = data
                return _Answer(200, {"ETag": '"part"'})
            case "PUT" if "HTTP_X_GOOG_COPY_SOURCE" in environ:
                return self._copied(_Object.of(environ["HTTP_X_GOOG_COPY_SOURCE"]), wanted)
            case "PUT":
                return self._uploaded(wanted, data, environ)
            case "POST" if "uploads" in query:
                made = f"<R><UploadId>{next(self.numbers)}</UploadId></R>"
                return _Answer(200, {}, made.encode())
            case "POST":
                parts = self.parts.pop(query["uploadId"][0])
                joined = b"".join(parts[number] for number in sorted(parts))
                return self._uploaded(wanted, joined, environ, b'<R><ETag>"whole"</ETag></R>')
            case method:
                return self._passed_on(method, environ)

    def _uploaded(self, wanted: _Object, data: bytes, environ: dict[str, Any], body: bytes = b"") -> _Answer:
        metadata = {name.removeprefix(_META).lower(): text for name, text in environ.items() if name.startswith(_META)}
        described = json.dumps({"name": wanted.name, "metadata": metadata}).encode()
        parts = [(b"application/json", described), (b"application/octet-stream", data)]
        sent = b"".join(b"--%s\r\nContent-Type: %s\r\n\r\n%s\r\n" % (_BOUNDARY.encode(), *part) for part in parts)
        condition = environ.get("HTTP_X_GOOG_IF_GENERATION_MATCH")
        fields = {"uploadType": "multipart", **({} if condition is None else {"ifGenerationMatch": condition})}
        found = self.pool.request(
            "POST",
            f"{self.endpoint}/upload/storage/v1/b/{wanted.bucket}/o?{urlencode(fields)}",
            body=sent + b"--%s--\r\n" % _BOUNDARY.encode(),
            headers={"Content-Type": f"multipart/related; boundary={_BOUNDARY}"},
        )
        return self._of_json(found, body)

    def _copied(self, source: _Object, target: _Object) -> _Answer:
        copy = f"{source.path}/copyTo{target.path}"
        found = self.pool.request("POST", f"{self.endpoint}/storage/v1{copy}", body=b"{}")
        return self._of_json(found, b'<R><ETag>"copy"</ETag></R>')

    def _of_json(self, found: urllib3.BaseHTTPResponse, body: bytes) -> _Answer:
        if found.status != 200:
            return _Answer(found.status, body=_NO_BUCKET if found.status == 404 else b"")
        made = json.loads(found.data)
        return _Answer(200, {"ETag": made["etag"], "x-goog-generation": made["generation"]}, body)

    def _passed_on(self, method: str, environ: dict[str, Any], data: bytes = b"") -> _Answer:
        names = {"Range": "HTTP_RANGE", "Content-Type": "CONTENT_TYPE"}
        headers = {name: environ[variable] for name, variable in names.items() if environ.get(variable)}
        found = self.pool.request(method, self.endpoint + environ["REQUEST_URI"], body=data or None, headers=headers)
        kept = {name: value for name, value in found.headers.items() if name in _KEPT or name.startswith("X-Goog-Meta")}
        if method == "HEAD":
            kept["Content-Length"] = found.headers.get("Content-Length", "0")
        return _Answer(found.status, kept, found.data)


def _body(environ: dict[str, Any]) -> bytes:
    stream = environ["wsgi.input"]
    is_chunked = environ.get("wsgi.input_terminated", False)
    data: bytes = stream.read() if is_chunked else stream.read(int(environ.get("CONTENT_LENGTH") or 0))
    return gzip.decompress(data) if environ.get("HTTP_CONTENT_ENCODING") == "gzip" else data


@contextmanager
def running_fake_gcs() -> Iterator[FakeGcs]:
    """Run the emulator, which keeps objects in memory, and the server in front of it."""
    port = free_port()
    command: list[str | Path] = [PROGRAMS / FAKE_GCS_PROGRAM, "-backend", "memory", "-scheme", "http"]
    command += ["-host", "127.0.0.1", "-port", str(port), "-public-host", f"127.0.0.1:{port}", "-log-level", "error"]
    with running_program(command, port, {}):
        server = FakeGcs(0, json_endpoint=f"http://127.0.0.1:{port}")
        with serving(server, _ByJson(server.json_endpoint)):
            yield server
