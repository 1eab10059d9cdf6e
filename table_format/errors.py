"""All errors that the library raises: one root, and one child per reaction of the caller.

The class says what happened. An error about a file carries its ``path``. The message says what was expected, what was
found and what to do. ``FileIO`` raises ``OSError`` only; the layers above translate.
"""

from __future__ import annotations

from table_format.secrets import redact
from table_format.shown_paths import shown_paths


class TableFormatError(Exception):
    """Root of all errors of this library. Messages are masked where they look like a secret, and show the URIs of files
    in remote stores.
    """

    def __init__(self, *messages: object) -> None:
        super().__init__(*(redact(shown_paths(m)) if isinstance(m, str) else m for m in messages))


# --- the thing is not there: create it, or fix the name -------------------------------------------------------------


class NotFoundError(TableFormatError):
    """A named object does not exist."""


class DatabaseNotFound(NotFoundError):
    """The database does not exist."""


class TableNotFound(NotFoundError):
    """The table does not exist."""


class ViewNotFound(NotFoundError):
    """The view does not exist."""


class SnapshotNotFound(NotFoundError):
    """No snapshot has this id, or none exists at or before this time."""


class SnapshotExpired(SnapshotNotFound):
    """The snapshot existed but has expired."""


class TagNotFound(NotFoundError):
    """The tag does not exist."""


class BranchNotFound(NotFoundError):
    """The branch does not exist."""


class ColumnNotFound(NotFoundError):
    """The column does not exist."""


# --- the thing already exists: use it, or choose another name ------------------------------------------------------


class AlreadyExistsError(TableFormatError):
    """A database, table, tag or branch with this name already exists."""


# --- the call is wrong: fix it --------------------------------------------------------------------------------------


class InvalidInputError(TableFormatError, ValueError):
    """An argument, a row or an input file is invalid; nothing was changed."""


class InvalidIdentifier(InvalidInputError):
    """The name of a database, table, tag, branch or column is not legal."""


class InvalidOption(InvalidInputError):
    """An option is unknown, malformed, immutable, or in conflict with another option."""

    def __init__(self, key: str, message: str) -> None:
        self.key = key
        # "option 'x' is not known", but "option 'x': 7 is too large".
        super().__init__(f"option '{key}'{' ' if message.startswith('is ') else ': '}{message}")


class InvalidSchema(InvalidInputError):
    """No table can have this schema."""


class InvalidSchemaChange(InvalidInputError):
    """The schema does not allow this change."""


class InvalidData(InvalidInputError):
    """Rows do not fit the table: wrong columns, wrong types, or a null in a NOT NULL column."""


class RetractNotSupported(InvalidInputError):
    """A -U or -D row reached a merge engine or an aggregate function that cannot retract."""


class InvalidFilter(InvalidInputError):
    """A filter cannot be parsed, or does not fit the columns."""


class InvalidExpression(InvalidInputError):
    """An expression cannot be parsed, does not fit the columns, or fails on the values of a row."""


class InvalidSql(InvalidInputError):
    """A SQL statement cannot be parsed. ``line`` and ``column`` count from 1."""

    def __init__(self, message: str, *, line: int = 1, column: int = 1) -> None:
        self.line = line
        self.column = column
        super().__init__(f"line {line}, column {column}: {message}")


class UnsupportedFeature(InvalidInputError):
    """This version does not support a feature of the format."""

    def __init__(self, feature: str, message: str | None = None) -> None:
        self.feature = redact(feature)
        super().__init__(message or f"{feature} is not supported by this version")


# --- another commit came first: read again and redo the work --------------------------------------------------------


class ConflictError(TableFormatError):
    """Another commit made this one impossible. None of its changes are visible."""


class FileConflict(ConflictError):
    """Another commit already removed a file that this commit deletes, or added a file that this commit adds."""


class BucketLost(FileConflict):
    """Other commits replaced files of a bucket, and the files expired during the work. ``partition`` is serialized."""

    def __init__(self, partition: bytes, bucket: int, message: str) -> None:
        self.partition = partition
        self.bucket = bucket
        super().__init__(message)


class LsmConflict(ConflictError):
    """The commit would create overlapping key ranges in one level of a bucket."""


class BucketCountChanged(ConflictError):
    """The partition was written with another number of buckets."""


class HashIndexChanged(ConflictError):
    """Another commit assigned buckets to keys of the partition: assign the buckets of these rows again."""


class KeyPlacesChanged(ConflictError):
    """Another commit wrote to a cross-partition table: assign the partitions and buckets of these rows again."""


class RowsChanged(ConflictError):
    """Another commit wrote keys that this DELETE, UPDATE or MERGE has read: run the statement again."""


class SchemaChanged(ConflictError):
    """The schema changed after the table was loaded, and continuing would lose values: load the table again."""


class TableReplaced(ConflictError):
    """The table was dropped and created again after it was loaded: load the table again."""


class CommitRetriesExhausted(ConflictError):
    """Other writers won the race for the snapshot id in every attempt."""


class LockTimeout(ConflictError):
    """Others held the lock of the table for longer than ``lock-acquire-timeout``."""


# --- the outcome is unknown: check before a retry ---------------------------------------------------------------------


class OutcomeUnknownError(TableFormatError):
    """An operation may or may not have taken effect."""


class CommitOutcomeUnknown(OutcomeUnknownError):
    """The snapshot may or may not have been published. Its files are kept."""

    def __init__(self, user: str, identifier: int, attempted_id: int, message: str) -> None:
        self.user = user
        self.identifier = identifier
        self.attempted_id = attempted_id
        super().__init__(message)


# --- a package or Java is missing: install it ------------------------------------------------------------------------


class PackageMissing(TableFormatError, ImportError):
    """A required Python package is not installed. The message names the extra that installs it."""


class JavaNotFound(TableFormatError, RuntimeError):
    """Spark needs a Java runtime, and none was found."""


# --- the database of a catalog does not answer: check the connection -------------------------------------------------


class MetastoreUnavailable(TableFormatError):
    """The database of a catalog cannot be reached, or it refused a request."""


# --- bytes are wrong: stop, restore ---------------------------------------------------------------------------------


class CorruptionError(TableFormatError):
    """A file is missing or truncated, or its contents do not match the metadata."""

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        super().__init__(f"{path}: {message}")


class MissingFile(CorruptionError):
    """The metadata of the table names a file that does not exist."""

    def __init__(
        self,
        path: str,
        message: str = "the file is named by the table's metadata and does not exist",
    ) -> None:
        super().__init__(path, message)


class Truncated(CorruptionError):
    """A file is shorter or longer than recorded."""

    def __init__(self, path: str, *, expected_bytes: int, found_bytes: int) -> None:
        self.expected_bytes = expected_bytes
        self.found_bytes = found_bytes
        super().__init__(path, f"expected {expected_bytes} bytes, found {found_bytes}")


class BadEncoding(CorruptionError):
    """A file cannot be decoded."""


class LimitExceeded(CorruptionError):
    """A file declares more than any valid file can hold; see ``table_format.limits``."""
