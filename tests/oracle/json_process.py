"""A process that reads a request of JSON from each line of its input, and writes the result as a line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class PeerError(Exception):
    """The process refused or failed; the text has its errors."""


class JsonProcess:
    """A running process, which ends with the ``with`` statement; ``name`` is for errors."""

    def __init__(self, name: str, command: Sequence[str | Path]) -> None:
        self._name = name
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def _call(self, operation: str, warehouse: Path | str, table: str, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        place = str(warehouse)
        # A word is the name of a warehouse on a server.
        place = place if "://" in place or "/" not in place else str(Path(place).absolute())
        message = {"op": operation, "warehouse": place, "table": table, **request}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            text = f"{self._name} ended"
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
