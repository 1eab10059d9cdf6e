"""The REST servers of Paimon's own tests, in a Java process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from table_format.secrets import Secret
from tests.oracle.install import BUNDLES, DEFAULT_DIRECTORY, LIBRARIES, REST_LIBRARIES, STABLE, jar_name
from tests.support.shared_classes import QUICK

TOKEN: Final = "token-of-the-tests"  # noqa: S105 - of no other server
_JARS: Final = Path(os.environ.get("PAIMON_ORACLE_DIR", DEFAULT_DIRECTORY)) / "jars"
_SOURCE: Final = Path(__file__).parent.parent / "oracle" / "RestServers.java"
_NUMBERS: Final = count()


@dataclass(frozen=True)
class RestServer:
    """A server with one warehouse, whose tables are below ``directory``."""

    process: RestProcess
    warehouse: str
    url: str
    directory: Path

    @property
    def options(self) -> dict[str, str | Secret]:
        """The options of our catalog."""
        return {"warehouse": self.warehouse, **self.java_options, "token": Secret(TOKEN)}

    @property
    def java_options(self) -> dict[str, str]:
        """The options of a catalog of the real Paimon, without the warehouse."""
        return {"metastore": "rest", "uri": self.url, "token.provider": "bear", "token": TOKEN}

    def forbid_table(self, name: str) -> None:
        """From now on, refuse all requests for a table."""
        self.process.perform("forbid_table", self.warehouse, name)


@dataclass(frozen=True)
class RestProcess:
    """The Java process."""

    running: subprocess.Popen[str]

    def open(self, directory: Path, **options: str) -> RestServer:
        """Start a server, which gives its clients options."""
        warehouse = f"lake{next(_NUMBERS)}"
        given = [part for key, value in {"prefix": "paimon/1", **options}.items() for part in (key, value)]
        url = self.perform("open", warehouse, str(directory), TOKEN, *given)
        return RestServer(self, warehouse, url, directory)

    def fail_after_next_commit(self) -> None:
        """Publish the next snapshot, and answer that the server has failed."""
        self.perform("fail_after_commit")

    def perform(self, *step: str) -> str:
        """Let the process do something, and return its answer."""
        assert self.running.stdin is not None
        assert self.running.stdout is not None
        print("\t".join(step), file=self.running.stdin, flush=True)
        answer = self.running.stdout.readline().strip()
        assert answer, f"the servers ended at {step}"
        return answer


@contextmanager
def running_rest() -> Iterator[RestProcess]:
    """Run the process; skip the test where the jars are not set up."""
    jars = [_JARS / jar_name(coordinates) for coordinates in (BUNDLES[STABLE], *REST_LIBRARIES, *LIBRARIES)]
    if not all(jar.exists() for jar in jars):
        pytest.skip(
            "!!!!! Paimon's REST server is not set up, nothing is checked: python -m tests.oracle.install !!!!!"
        )
    # Java compiles the one source file when it starts.
    command = ["java", "-Xmx512m", *QUICK.split(), "-cp", ":".join(map(str, jars)), str(_SOURCE)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready", "the REST servers did not start"
        try:
            yield RestProcess(process)
        finally:
            process.stdin.close()
