"""SQL here and by the real Paimon on Spark 3.5, side by side: one JVM on each side for all statements."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

from pyspark.errors import PySparkException

from table_format.errors import TableFormatError
from table_format.spark import paimon
from tests.oracle.install import SPARK_CONNECTOR, jar_name
from tests.oracle.peer import DIRECTORY, PeerError
from tests.oracle.spark_reader import plain
from tests.support.shared_classes import QUICK
from tests.support.spark_session import INTERPRETED, local_session

Result: TypeAlias = dict[str, Any]
"""The sorted ``rows`` of a statement, or its ``error``."""

_SILENCE: Final = 900.0
"""Seconds without a result after which the reference is taken to hang; a statement takes one."""
_WITHOUT: Final = ("PYSPARK", "SPARK", "PYTHON")
"""Beginnings of variables of the environment that would lead the older Spark astray."""


class Reference:
    """Spark 3.5 with the real Paimon 0.9.0, in a process of its own."""

    def __init__(self, warehouse: Path) -> None:
        jar = DIRECTORY / "jars" / jar_name(SPARK_CONNECTOR)
        runner = Path(__file__).parent / "sql_runner.py"
        self._process = subprocess.Popen(
            [DIRECTORY / "spark" / "bin" / "python", runner, jar, warehouse],
            env={**{k: v for k, v in os.environ.items() if not k.startswith(_WITHOUT)}, "SPARK_SUBMIT_OPTS": QUICK},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def run(self, statement: str) -> Result:
        """The result of one statement."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        guard = threading.Timer(_SILENCE, self._process.kill)
        guard.daemon = True
        guard.start()
        try:
            self._process.stdin.write(json.dumps(statement) + "\n")
            self._process.stdin.flush()
            for line in self._process.stdout:
                if line.startswith("RESULT "):
                    result: Result = json.loads(line[len("RESULT ") :])
                    return result
        finally:
            guard.cancel()
        message = f"the real Paimon ended at: {statement}"
        raise PeerError(message)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


class Ours:
    """This library on the Spark session of the tests."""

    def __init__(self, scratch: Path, warehouse: Path) -> None:
        self._spark = local_session(scratch, INTERPRETED)
        self._lake = paimon(self._spark, {"warehouse": str(warehouse)})

    def run(self, statement: str) -> Result:
        """The result of one statement."""
        try:
            rows = [[plain(value) for value in row] for row in self._lake.sql(statement).collect()]
        except (TableFormatError, PySparkException) as error:
            return {"error": f"{type(error).__name__}: {error}"[:300]}
        return {"rows": sorted(rows, key=json.dumps)}

    def close(self) -> None:
        """Stop the session."""
        self._spark.stop()


class BothSides:
    """``with BothSides(directory) as sides: sides.run(statements)``: a warehouse and a JVM on each side."""

    def __init__(self, directory: Path) -> None:
        self._theirs = Reference(directory / "theirs")
        self._ours = Ours(directory / "spark", directory / "ours")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._theirs.close()
        self._ours.close()

    def run(self, statements: Sequence[str]) -> list[tuple[Result, Result]]:
        """The results there and here, for each statement."""
        with ThreadPoolExecutor(max_workers=1) as beside:
            theirs = beside.submit(lambda: [self._theirs.run(statement) for statement in statements])
            ours = [self._ours.run(statement) for statement in statements]
            return list(zip(theirs.result(), ours, strict=True))


def are_equal(theirs: Result, ours: Result) -> bool:
    """Whether both have the same rows, or both fail."""
    return theirs.keys() == ours.keys() and theirs.get("rows") == ours.get("rows")
