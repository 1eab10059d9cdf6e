"""An S3 server of this process, with a bucket of its own for each test."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

KEY, SECRET = "local-key", "local-hush"


@dataclass(frozen=True)
class S3Server:
    """A running server. ``options`` are those of a catalog that uses it."""

    endpoint: str

    @property
    def options(self) -> dict[str, str]:
        return {"s3.endpoint": self.endpoint, "s3.access-key": KEY, "s3.secret-key": SECRET}

    def make_bucket(self, name: str) -> str:
        """Create a bucket and return its URI."""
        from pyarrow import fs

        files = fs.S3FileSystem(
            endpoint_override=self.endpoint.removeprefix("http://"),
            scheme="http",
            access_key=KEY,
            secret_key=SECRET,
            region="us-east-1",
            allow_bucket_creation=True,
        )
        files.create_dir(name)
        return f"s3://{name}"


@contextmanager
def running_s3() -> Iterator[S3Server]:
    """Run a server on a free port."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield S3Server(f"http://{host}:{port}")
    finally:
        server.stop()
