"""The levels of one bucket's LSM tree as sorted runs (format chapter 06, section 7; Java ``Levels``, ``SortedRun``).

Invariant: at level 0 every file is a run of its own, newest first; every higher level is at most one run, whose files
are sorted by key and do not overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

from table_format.errors import CorruptionError
from table_format.lsm.keys import KeyRangeOf
from table_format.model.data_file import DataFileMeta


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Files of one level with ascending, disjoint key ranges."""

    level: int
    files: tuple[DataFileMeta, ...]

    @property
    def size_bytes(self) -> int:
        """The total size of the files in bytes."""
        return sum(file.file_size for file in self.files)


@dataclass(frozen=True, slots=True)
class Levels:
    """All live files of a bucket: the level-0 files newest first, and the non-empty higher levels, lowest first."""

    level0: tuple[DataFileMeta, ...]
    higher: tuple[SortedRun, ...]
    number_of_levels: int

    @property
    def max_level(self) -> int:
        """The number of the highest level; levels count from 0."""
        return self.number_of_levels - 1

    @property
    def highest_non_empty(self) -> int:
        """The highest level with a file; -1 if there is none."""
        if self.higher:
            return self.higher[-1].level
        return 0 if self.level0 else -1

    @property
    def runs(self) -> tuple[SortedRun, ...]:
        """All runs, newest first."""
        return (*(SortedRun(0, (file,)) for file in self.level0), *self.higher)

    @property
    def files(self) -> tuple[DataFileMeta, ...]:
        """All files, those of level 0 first."""
        return (*self.level0, *(file for run in self.higher for file in run.files))


def levels_of(files: Iterable[DataFileMeta], num_levels: int, key_range: KeyRangeOf) -> Levels:
    """Arrange the files of one bucket in levels.

    ``num_levels`` is the number of levels in the options. Files on higher levels, which an earlier and larger setting
    left, are kept.

    Raises:
        CorruptionError: two files of one level above 0 overlap.
    """
    by_level: dict[int, list[DataFileMeta]] = {}
    for file in files:
        by_level.setdefault(file.level, []).append(file)
    level0 = tuple(sorted(by_level.pop(0, []), key=_newest_first))
    higher = tuple(SortedRun(level, _sorted_by_key(by_level[level], key_range)) for level in sorted(by_level))
    highest = higher[-1].level if higher else 0
    return Levels(level0, higher, max(num_levels, highest + 1))


def levels_fingerprint(files: Iterable[DataFileMeta]) -> bytes:
    """Return bytes that change if a bucket gets other files above level 0; files of level 0 do not count."""
    digest = blake2b(digest_size=16)
    for level, name in sorted((file.level, file.file_name) for file in files if file.level > 0):
        digest.update(f"{level} {name}\n".encode())
    return digest.digest()


def replace_files(
    levels: Levels, before: Sequence[DataFileMeta], after: Sequence[DataFileMeta], key_range: KeyRangeOf
) -> Levels:
    """Return the levels after the files ``before`` are replaced by the files ``after``."""
    removed = {(file.file_name, file.level) for file in before}
    kept = [file for file in levels.files if (file.file_name, file.level) not in removed]
    return levels_of([*kept, *after], levels.number_of_levels, key_range)


def _newest_first(file: DataFileMeta) -> tuple[int, int, int, str]:
    # Two concurrent writers may have used the same sequence numbers; Java ``Levels`` breaks the tie in this way.
    return (-file.max_sequence_number, file.min_sequence_number, file.creation_time or 0, file.file_name)


def _sorted_by_key(files: list[DataFileMeta], key_range: KeyRangeOf) -> tuple[DataFileMeta, ...]:
    ordered = sorted(files, key=lambda file: key_range(file)[0])
    for left, right in pairwise(ordered):
        if key_range(right)[0] <= key_range(left)[1]:
            message = (
                f"its key range overlaps that of {left.file_name} on level {left.level}, where files must be disjoint; "
                "restore an earlier snapshot, or run a full compaction from one"
            )
            raise CorruptionError(right.file_name, message)
    return tuple(ordered)
