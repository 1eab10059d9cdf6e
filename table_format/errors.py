"""Every error the library raises: one root, one child per reaction of the caller.

A leaf says what happened. An error that concerns a file carries its ``path``; a message says what was expected, what
was found and what to do about it. ``FileIO`` raises ``OSError`` only; the layers above translate.
"""

from __future__ import annotations

from table_format.secrets import redact


class TableFormatError(Exception):
    """Root of all errors of this library. What looks like a secret in a message is masked."""

    def __init__(self, *messages: object) -> None:
        super().__init__(*(redact(message) if isinstance(message, str) else message for message in messages))


# --- the thing is not there: create it, or fix the name -------------------------------------------------------------


class NotFoundError(TableFormatError):
    """Something that was named does not exist."""


class DatabaseNotFound(NotFoundError):
    """No database of that name."""


class TableNotFound(NotFoundError):
    """No table of that name."""


class SnapshotNotFound(NotFoundError):
    """No snapshot of that id, or none at or before that time."""


class SnapshotExpired(SnapshotNotFound):
    """The snapshot existed and has been expired."""


class TagNotFound(NotFoundError):
    """No tag of that name."""


class BranchNotFound(NotFoundError):
    """No branch of that name."""


class ColumnNotFound(NotFoundError):
    """No column of that name."""


# --- the thing is there already: use it, or choose another name -----------------------------------------------------


class AlreadyExistsError(TableFormatError):
    """A database, table, tag or branch of that name exists."""


# --- the call is wrong: fix it --------------------------------------------------------------------------------------


class InvalidInputError(TableFormatError, ValueError):
    """An argument, a row or a file handed in is not acceptable; nothing was changed."""


class InvalidIdentifier(InvalidInputError):
    """A name that is not a legal database, table, tag, branch or column name."""


class InvalidOption(InvalidInputError):
    """An option that is unknown, malformed, immutable or in conflict with another."""

    def __init__(self, key: str, message: str) -> None:
        self.key = key
        super().__init__(f"option '{key}': {message}")


class InvalidSchema(InvalidInputError):
    """A schema that no table can have."""


class InvalidSchemaChange(InvalidInputError):
    """A change that this schema does not admit."""


class InvalidData(InvalidInputError):
    """Rows that do not fit the table: wrong columns, wrong types, a null where none may be."""


class RetractNotSupported(InvalidInputError):
    """A -U or -D row reached a merge engine, or the function of a column, that cannot take anything back."""


class InvalidFilter(InvalidInputError):
    """A filter text that cannot be parsed or does not fit the columns."""


class InvalidExpression(InvalidInputError):
    """An expression that cannot be parsed, does not fit the columns, or fails for the values of a row."""


class UnsupportedFeature(InvalidInputError):
    """A feature of the format that this version does not carry out."""

    def __init__(self, feature: str, message: str | None = None) -> None:
        self.feature = redact(feature)
        super().__init__(message or f"{feature} is not supported by this version")


# --- somebody else was faster: read again and redo the work ---------------------------------------------------------


class ConflictError(TableFormatError):
    """Another commit made this one impossible; nothing of it is visible."""


class FileConflict(ConflictError):
    """A file this commit deletes is gone already, or one it adds is there already."""


class BucketLost(FileConflict):
    """Others replaced files of a bucket, which were expired while it was worked on; ``partition`` is serialised."""

    def __init__(self, partition: bytes, bucket: int, message: str) -> None:
        self.partition = partition
        self.bucket = bucket
        super().__init__(message)


class LsmConflict(ConflictError):
    """The commit would leave overlapping key ranges in one level of a bucket."""


class BucketCountChanged(ConflictError):
    """The partition was written with another number of buckets."""


class HashIndexChanged(ConflictError):
    """Keys of a partition were given their buckets by others meanwhile: its rows must be given theirs anew."""


class KeyPlacesChanged(ConflictError):
    """Others wrote to a table in which a key may change its partition: rows must be given their places anew."""


class RowsChanged(ConflictError):
    """Another commit wrote keys that a DELETE, UPDATE or MERGE read before: the statement must be carried out again."""


class SchemaChanged(ConflictError):
    """The schema changed after the table was opened, and to go on would lose values: load the table again."""


class TableReplaced(ConflictError):
    """The table was dropped after it was opened, and another was made in its place: load the table again."""


class CommitRetriesExhausted(ConflictError):
    """Other writers won every attempt."""


# --- nobody knows: ask, do not repeat blindly -----------------------------------------------------------------------


class OutcomeUnknownError(TableFormatError):
    """An operation may or may not have taken effect."""


class CommitOutcomeUnknown(OutcomeUnknownError):
    """The snapshot may or may not have been published; its files are left in place."""

    def __init__(self, user: str, identifier: int, attempted_id: int, message: str) -> None:
        self.user = user
        self.identifier = identifier
        self.attempted_id = attempted_id
        super().__init__(message)


# --- bytes are wrong: stop, restore ---------------------------------------------------------------------------------


class CorruptionError(TableFormatError):
    """A file is missing, truncated, or does not hold what its metadata says."""

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        super().__init__(f"{path}: {message}")


class MissingFile(CorruptionError):
    """A file that live metadata names does not exist."""

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
    """A file declares more than any sound file holds; see ``table_format.limits``."""
