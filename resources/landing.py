"""The landing zone: files as a change-capture connector leaves them, one directory for each table and day.

``<path>/<table>/dt=<day>/part-00000.jsonl`` and beside the parts ``_schema.json``, the columns the source had. A day is
replaced as a whole: its directory is made under another name and renamed.
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

    path: str = Field(description="Directory of the landed files; a relative one begins at `base_directory`.")
    base_directory: str = Field(
        default="", description="Where a relative path begins; where the process runs when empty."
    )
    lines_per_file: int = Field(default=100_000, description="A day of more lines is written as several files.")

    def table_directory(self, table: str) -> Path:
        """The directory of all days of one table."""
        return Path(absolute_location(self.path, self.base_directory)) / table

    def directory(self, table: str, day: str) -> Path:
        """The directory of one table and day."""
        return self.table_directory(table) / f"dt={day}"

    def land(self, table: str, day: str, lines: Iterable[str], columns: dict[str, str]) -> LandingDay:
        """Write the files of one day, in place of those that are there."""
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
        """The columns, name to SQL type, that the source had on that day.

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
        """Lines landed for that day; 0 where there are none."""
        return sum(_lines_of(part) for part in sorted(self.directory(table, day).glob("part-*.jsonl")))


def _lines_of(path: Path) -> int:
    with path.open("rb") as lines:
        return sum(1 for _ in lines)
