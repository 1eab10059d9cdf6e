"""The findings of a verification. Each names a path, what was expected there, and what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from table_format.counted import counted
from table_format.errors import InvalidInputError
from table_format.model.arguments import shown
from table_format.model.bucket_id import BucketId
from table_format.shown_paths import shown_paths

_SHOWN = 50


class Severity(StrEnum):
    """The severity of a finding."""

    ERROR = "error"
    """A read fails, or returns wrong rows."""
    WARNING = "warning"
    """Reads are correct, but something else is wrong."""


class Depth(IntEnum):
    """The depth of a verification. Each depth includes the previous ones."""

    METADATA = 1
    """Snapshots, schemas, manifests, tags, branches, changelogs, consumers and hints. No data file is opened."""
    FILES = 2
    """Every file that metadata names: it exists, has its size and number of rows, and its indexes can be read."""
    ROWS = 3
    """Every row of the latest state: statistics, order, keys in their buckets, one row for each key, indexes."""

    @classmethod
    def of(cls, value: object) -> Depth:
        """Return the depth with this name: 'metadata', 'files' or 'rows'.

        >>> Depth.of("files").name
        'FILES'

        Raises:
            InvalidInputError: no depth has this name.
        """
        if isinstance(value, Depth):
            return value
        if isinstance(value, str) and value.upper() in cls.__members__:
            return cls[value.upper()]
        message = f"depth: expected one of metadata, files and rows, found {shown(value)}"
        raise InvalidInputError(message)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One problem. ``check`` is the short name of the check.

    ``partition`` is a text such as ``dt=2026-01-01``. ``bucket`` is ``None`` if the finding is not about a bucket.
    """

    severity: Severity
    check: str
    path: str
    expected: str
    found: str
    partition: str = ""
    bucket: int | None = None

    def __str__(self) -> str:
        """One line.

        >>> print(Finding(Severity.ERROR, "size", "/t/f", "9 bytes", "8 bytes", "dt=a", 0))
        error: size of /t/f (dt=a, bucket 0): expected 9 bytes, found 8 bytes
        """
        place = [self.partition] if self.partition else []
        place += [] if self.bucket is None else [f"bucket {self.bucket}"]
        where = f" ({', '.join(place)})" if place else ""
        problem = f"{self.severity}: {self.check} of {self.path}{where}: expected {self.expected}, found {self.found}"
        return shown_paths(problem)


@dataclass(frozen=True, slots=True)
class KeyHashes:
    """The hashes of the keys in the live files of a bucket, each once, as 32-bit integers of this machine."""

    bucket_id: BucketId
    hashes: bytes


@dataclass(frozen=True, slots=True)
class Checked:
    """The amount that was checked, and the findings.

    ``key_hashes`` exist if rows were checked and an index decides on the bucket of a key.
    """

    findings: tuple[Finding, ...] = ()
    files: int = 0
    rows: int = 0
    key_hashes: KeyHashes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """The result of a verification: findings, most serious first, and how much was checked.

    ``rows`` counts rows that were read. ``repaired`` names repaired files, which are also in the findings.
    """

    table: str
    depth: Depth
    findings: tuple[Finding, ...] = ()
    snapshots: int = 0
    manifests: int = 0
    files: int = 0
    rows: int = 0
    repaired: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings for which a read fails or is wrong."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The other findings."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.WARNING)

    @property
    def is_healthy(self) -> bool:
        """Whether there is no error."""
        return not self.errors

    def __str__(self) -> str:
        counts = Counter(finding.severity for finding in self.findings)
        checked = [counted(self.snapshots, "snapshot"), counted(self.manifests, "manifest")]
        checked += [counted(self.files, "file")] if self.depth >= Depth.FILES else []
        checked += [counted(self.rows, "row")] if self.depth >= Depth.ROWS else []
        lines = [
            f"{self.table}: {counted(counts[Severity.ERROR], 'error')}, {counted(counts[Severity.WARNING], 'warning')} "
            f"in {', '.join(checked[:-1])} and {checked[-1]} (depth '{self.depth.name.lower()}')"
        ]
        lines += [str(finding) for finding in self.findings[:_SHOWN]]
        if len(self.findings) > _SHOWN:
            lines.append(f"and {len(self.findings) - _SHOWN} more")
        return "\n".join([*lines, *(f"repaired: {path}" for path in self.repaired)])


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return each finding once, errors first."""

    def key(finding: Finding) -> tuple[bool, str, int, str, str]:
        bucket = -1 if finding.bucket is None else finding.bucket
        return finding.severity is Severity.WARNING, finding.partition, bucket, finding.check, finding.path

    return tuple(sorted(set(findings), key=key))
