"""The vendored golden tables: written by real Apache Paimon, with the rows it reads from them.

``tests/golden/data/<case>.tar.xz`` holds a complete warehouse and ``expected.json``; nothing in it is made by this
project. A case is unpacked once for each test process and never written to.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "golden" / "data"


@dataclass(frozen=True)
class GoldenCase:
    """One scenario: ``warehouse`` is a directory to open a catalog on, ``expected`` what Paimon answers."""

    name: str
    warehouse: Path
    expected: dict[str, Any]

    @property
    def tables(self) -> dict[str, dict[str, Any]]:
        return self.expected["tables"]

    def writable_copy(self, directory: Path) -> Path:
        """A copy of the warehouse that a test may write to."""
        return Path(shutil.copytree(self.warehouse, directory / self.name))


def case_names() -> tuple[str, ...]:
    """All vendored cases."""
    return tuple(sorted(p.name.removesuffix(".tar.xz") for p in DATA.glob("*.tar.xz")))


@cache
def _unpacked_root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="golden-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root


@cache
def golden_case(name: str) -> GoldenCase:
    """Unpack a case."""
    directory = _unpacked_root() / name
    with tarfile.open(DATA / f"{name}.tar.xz") as archive:
        archive.extractall(directory, filter="data")
    expected = json.loads((directory / "expected.json").read_text())
    return GoldenCase(name, directory / "warehouse", expected)
