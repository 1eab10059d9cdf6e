"""A real HDFS in a Java process: two namenodes, of which the second is active, and one datanode."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.oracle.install import DEFAULT_DIRECTORY, HDFS_LIBRARIES, jar_name
from tests.support.shared_classes import QUICK

_JARS = Path(os.environ.get("PAIMON_ORACLE_DIR", DEFAULT_DIRECTORY)) / "jars"
_OPENED = "--add-opens=java.base/java.lang=ALL-UNNAMED"
_SOURCE = Path(__file__).parent.parent / "oracle" / "MiniHdfs.java"


@dataclass(frozen=True)
class HdfsCluster:
    """A running cluster: the web addresses of its namenodes, and the port of the active one for Java."""

    standby: str
    active: str
    port: int

    @property
    def uri(self) -> str:
        """The root as Hadoop and this library name it without any option."""
        return f"webhdfs://{self.active}"

    @property
    def native_uri(self) -> str:
        """The root for Hadoop's own protocol; see ``options``."""
        return f"hdfs://127.0.0.1:{self.port}"

    @property
    def options(self) -> dict[str, str]:
        """The options of a catalog at ``native_uri``, which begin with the namenode that is not active."""
        return {"dfs.namenode.http-address": f"{self.standby},{self.active}"}


@contextmanager
def running_hdfs(directory: Path) -> Iterator[HdfsCluster]:
    """Run a cluster with its files in a directory; skip the test where the jars are not set up."""
    jars = [_JARS / jar_name(coordinates) for coordinates in HDFS_LIBRARIES]
    if not all(jar.exists() for jar in jars):
        pytest.skip("!!!!! HDFS is not set up, nothing is checked on it: python -m tests.oracle.install !!!!!")
    # Java compiles the one source file when it starts.
    command = [
        "java",
        "-Xmx512m",
        *QUICK.split(),
        _OPENED,
        "-cp",
        ":".join(map(str, jars)),
        str(_SOURCE),
        str(directory),
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ready = process.stdout.readline().split()
        assert ready[:1] == ["ready"], "HDFS did not start"
        try:
            yield HdfsCluster(ready[1], ready[2], int(ready[3]))
        finally:
            process.stdin.close()
            process.wait(60)
