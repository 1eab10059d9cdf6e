"""The landing zone: files in the layout of a change-capture connector, with a directory for each table and day.

The files are ``<path>/<table>/dt=<day>/part-00000.jsonl`` and ``_schema.json`` with the columns of the source. A day is
replaced as a whole: its directory is written with another name and renamed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Final

from pydantic import Field

from dagster_paimon.resources.lakehouse import absolute_location
from dagster_paimon.resources.secrets import Guarded

_SCHEMA_FILE: Final = "_schema.json"


@dataclass(frozen=True, slots=True)
class LandingDay:
    """The files written for one table and day."""

    directory: Path
    lines: int
    size_bytes: int
    digest: str


class LandingZone(Guarded):
    """A directory where change files arrive."""

    path: str = Field(description="Directory of the landed files; a relative path is relative to `base_directory`.")
    base_directory: str = Field(
        default="", description="Base of a relative path; by default the working directory of the process."
    )
    lines_per_file: int = Field(
        default=100_000, description="Maximum lines of a file; a day with more lines is written as several files."
    )

    def table_directory(self, table: str) -> Path:
        """Return the directory with all days of one table."""
        return Path(absolute_location(self.path, self.base_directory)) / table

    def directory(self, table: str, day: str) -> Path:
        """Return the directory of one table and day."""
        return self.table_directory(table) / f"dt={day}"

    def land(self, table: str, day: str, lines: Iterable[str], columns: dict[str, str]) -> LandingDay:
        """Write the files of one day and replace existing ones."""
        final = self.directory(table, day)
        draft = final.with_name(f".{final.name}.{os.getpid()}")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        remaining, digest, count, size = iter(lines), sha256(), 0, 0
        for number in range(1_000_000):
            chunk = list(islice(remaining, self.lines_per_file))
            if not chunk and number > 0:
                break
            content = "".join(f"{line}\n" for line in chunk).encode()
            (draft / f"part-{number:05d}.jsonl").write_bytes(content)
            digest.update(content)
            count, size = count + len(chunk), size + len(content)
        (draft / _SCHEMA_FILE).write_text(json.dumps({"table": table, "columns": columns}, indent=2) + "\n")
        shutil.rmtree(final, ignore_errors=True)
        draft.rename(final)
        return LandingDay(final, count, size, digest.hexdigest())

    def columns(self, table: str, day: str) -> dict[str, str]:
        """Return the columns of the source on that day, from name to SQL type.

        Raises:
            FileNotFoundError: nothing was landed for that day.
        """
        path = self.directory(table, day) / _SCHEMA_FILE
        if not path.exists():
            message = (
                f"{path}: nothing was landed for '{table}' on {day}; materialize landing/{table}_feed for that day"
            )
            raise FileNotFoundError(message)
        columns: dict[str, str] = json.loads(path.read_text())["columns"]
        return columns

    def count_lines(self, table: str, day: str) -> int:
        """Return the number of lines that were landed for that day."""
        return sum(_lines_of(part) for part in sorted(self.directory(table, day).glob("part-*.jsonl")))


def _lines_of(path: Path) -> int:
    with path.open("rb") as lines:
        return sum(1 for _ in lines)
