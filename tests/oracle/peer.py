"""The real Apache Paimon as a running peer: one Java process, JSON lines in and out."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.oracle.install import DEFAULT_DIRECTORY, class_path

DIRECTORY = Path(os.environ.get("PAIMON_ORACLE_DIR", DEFAULT_DIRECTORY))
_OPENED = ("java.base/java.nio", "java.base/java.lang", "java.base/java.util")


class PeerError(Exception):
    """The real Paimon refused or failed; the text holds its chain of exceptions."""


class PaimonPeer:
    """``with PaimonPeer("1.4.2") as paimon: paimon.read(warehouse, "db.t")``."""

    def __init__(self, version: str) -> None:
        path = ":".join(map(str, [DIRECTORY / "classes" / version, *class_path(DIRECTORY, version)]))
        opens = [f"--add-opens={module}=ALL-UNNAMED" for module in _OPENED]
        options = ["-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC"]
        self.version = version
        self._process = subprocess.Popen(
            ["java", *options, *opens, "-cp", path, "PaimonPeer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def read(self, warehouse: Path, table: str, **options: str) -> dict[str, Any]:
        """Columns and rows of the table, with dynamic options such as ``scan.snapshot-id``."""
        return self._call("read", warehouse, table, options={k.replace("_", "-"): v for k, v in options.items()})

    def read_at(self, warehouse: Path, table: str, snapshot_id: int) -> dict[str, Any]:
        """Columns and rows at one snapshot."""
        return self._call("read", warehouse, table, options={"scan.snapshot-id": str(snapshot_id)})

    def read_equal(
        self, warehouse: Path, table: str, equal: dict[str, Any], options: dict[str, str] | None = None
    ) -> list[list[Any]]:
        """The rows of a table in which columns have these values, and others that lie in the files read for them."""
        return self._call("read", warehouse, table, options=options or {}, equal=equal)["rows"]

    def read_where(
        self, warehouse: Path, table: str, condition: list[Any], options: dict[str, str] | None = None
    ) -> list[list[Any]]:
        """The rows that meet a condition: ``[operator, column, value...]`` or ``["and", condition...]``."""
        return self._call("read", warehouse, table, options=options or {}, filter=condition)["rows"]

    def changes(self, warehouse: Path, table: str, options: dict[str, str] | None = None) -> list[list[Any]]:
        """Rows of a batch read of a table or system table, each ``[kind, values]``."""
        return self._call("changes", warehouse, table, options=options or {})["rows"]

    def system_table(self, warehouse: Path, table: str, options: dict[str, str] | None = None) -> dict[str, Any]:
        """``columns``, ``types`` and ``rows`` of a system table."""
        answer = self._call("changes", warehouse, table, options=options or {})
        return {**answer, "rows": [values for _, values in answer["rows"]]}

    def stream(self, warehouse: Path, table: str, options: dict[str, str]) -> list[dict[str, Any]]:
        """The plans of a streaming read so far: ``snapshot`` and ``rows``, each ``[kind, values]``."""
        return self._call("stream", warehouse, table, options=options)["plans"]

    def snapshot_ids(self, warehouse: Path, table: str) -> list[int]:
        """The ids of the snapshots that exist."""
        return self._call("snapshots", warehouse, table)["ids"]

    def write(self, warehouse: Path, table: str, rows: list[list[Any]], **options: str) -> None:
        """Commit ``[[kind, [values]], ...]`` in one batch."""
        self._call("write", warehouse, table, rows=rows, options=options)

    def compact(self, warehouse: Path, table: str, options: dict[str, str] | None = None, *, full: bool = True) -> None:
        """Compact every bucket, in full or what is due, with dynamic options."""
        self._call("compact", warehouse, table, options=options or {}, full=full)

    def history(self, warehouse: Path, table: str, *step: str | int) -> None:
        """A step on tags, branches, consumers or the history, such as ``"create_tag", "t1"``."""
        self._call("history", warehouse, table, step=[str(part) for part in step])

    def kept(self, warehouse: Path, table: str) -> dict[str, Any]:
        """``tags`` with their snapshot ids, ``branches``, and ``consumers`` with the ids they read next."""
        return self._call("kept", warehouse, table)

    def create_table(self, warehouse: Path, table: str, **request: Any) -> None:
        """Create a table: ``columns`` [[name, type]], ``primary_keys``, ``partition_keys``, ``options``."""
        self._call("create_table", warehouse, table, **request)

    def alter_options(self, warehouse: Path, table: str, options: dict[str, str]) -> None:
        """Set options of a table."""
        self._call("alter_table", warehouse, table, options=options)

    def _call(self, operation: str, warehouse: Path, table: str, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        message = {"op": operation, "warehouse": str(Path(warehouse).absolute()), "table": table, **request}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            text = f"the Java process of Paimon {self.version} ended"
            raise PeerError(text)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()  # type: ignore[union-attr]
        self._process.stdout.close()  # type: ignore[union-attr]
        self._process.wait(30)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
