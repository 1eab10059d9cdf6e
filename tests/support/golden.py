"""The vendored golden tables: written by real Apache Paimon, with the rows it reads from them.

``tests/golden/data/<case>.tar.xz`` holds a complete warehouse and ``expected.json``; nothing in it is made by this
project. A case is unpacked at most once in a test process, when a test asks for its files, and never written to. What
lists tables to make tests of them takes the expectations alone: pytest lists the tests in each of its processes.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "golden" / "data"
_EXPECTED = Path("expected.json")


@dataclass(frozen=True)
class GoldenCase:
    """One scenario: ``expected`` is what Paimon answers."""

    name: str
    expected: dict[str, Any]

    @cached_property
    def warehouse(self) -> Path:
        """A directory to open a catalog on."""
        directory = _unpacked_root() / self.name
        with tarfile.open(_archive(self.name)) as archive:
            archive.extractall(directory, filter="data")
        return directory / "warehouse"

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


def _archive(name: str) -> Path:
    return DATA / f"{name}.tar.xz"


@cache
def golden_case(name: str) -> GoldenCase:
    """A case; its files are unpacked when they are asked for."""
    with tarfile.open(_archive(name)) as archive:
        # It comes first; to look a member up by its name, tarfile reads the whole archive.
        expected = archive.extractfile(next(member for member in archive if Path(member.name) == _EXPECTED))
        assert expected is not None
        return GoldenCase(name, json.load(expected))
