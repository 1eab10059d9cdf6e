"""The result of a writing task: commit messages, or the error of this library that stopped it.

An error that Spark transports becomes a ``PythonException`` with a stack trace as its text, and the results of the
other tasks are lost. An error that a task returns as its result is raised on the driver with its own class, and all
files can be deleted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from table_format import errors
from table_format.codecs.commit_message import decode_messages, encode_messages
from table_format.errors import BucketLost, TableFormatError
from table_format.model.arrow_calls import schema
from table_format.model.commit import CommitMessage
from table_format.shown_paths import shown_paths
from table_format.table.facts import TableFacts

RESULT_SCHEMA: Final = schema([("messages", pa.binary()), ("failure", pa.string())])
RESULT_DDL: Final = "messages binary, failure string"


@dataclass(frozen=True, slots=True)
class TaskResults:
    """The results of all tasks of a job. ``failure`` is the first error among them."""

    messages: tuple[CommitMessage, ...]
    failure: TableFormatError | None
    lost: tuple[BucketLost, ...] = ()
    """Buckets whose files another commit replaced, if the buckets of the job are independent."""


def outcome_of(work: Callable[[], Sequence[CommitMessage]]) -> tuple[bytes | None, str | None]:
    """Do the work of a task. Return its encoded messages, or the encoded error that stopped it.

    Errors of other libraries are raised, so that Spark repeats the task.
    """
    try:
        return encode_messages(work()), None
    except TableFormatError as error:
        return None, encode_error(error)


def result_of(work: Callable[[], Sequence[CommitMessage]]) -> pa.RecordBatch:
    """Do the work of a task and return its outcome as one row."""
    messages, failure = outcome_of(work)
    columns: list[pa.Array] = [pa.array([messages], pa.binary()), pa.array([failure], pa.string())]
    return pa.RecordBatch.from_arrays(columns, schema=RESULT_SCHEMA)


def gather(results: Iterable[Any], *, drop_lost_buckets: bool = False) -> TaskResults:
    """Read the results of the tasks of a job: rows with ``messages`` and ``failure``.

    With ``drop_lost_buckets``, ``BucketLost`` is not a failure.
    """
    messages: list[CommitMessage] = []
    failures: list[TableFormatError] = []
    lost: list[BucketLost] = []
    for result in results:
        if result.failure is None:
            messages.extend(decode_messages(bytes(result.messages)))
            continue
        failure = decode_error(result.failure)
        if drop_lost_buckets and isinstance(failure, BucketLost):
            lost.append(failure)
        else:
            failures.append(failure)
    return TaskResults(tuple(messages), failures[0] if failures else None, tuple(lost))


def messages_of_all(
    facts: TableFacts, results: TaskResults, failure: TableFormatError | None = None
) -> tuple[CommitMessage, ...]:
    """Return the messages of a job whose tasks depend on each other.

    Raises:
        TableFormatError: a task failed, or ``failure`` is given. All files of the job are deleted.
    """
    failure = results.failure or failure
    if failure is not None:
        facts.delete_message_files(results.messages)
        raise failure
    return results.messages


def encode_error(error: TableFormatError) -> str:
    """Encode an error as text: its class, its message and its attributes."""
    carried = {key: value for key, value in vars(error).items() if isinstance(value, str | int)}
    rows = {key: value.hex() for key, value in vars(error).items() if isinstance(value, bytes)}
    return json.dumps({"kind": type(error).__name__, "message": str(error), "carried": carried, "bytes": rows})


def decode_error(text: str) -> TableFormatError:
    """Decode an error.

    >>> error = decode_error(encode_error(errors.Truncated("/t/f", expected_bytes=2, found_bytes=1)))
    >>> type(error).__name__, str(error), error.found_bytes
    ('Truncated', '/t/f: expected 2 bytes, found 1', 1)
    """
    fields = json.loads(text)
    kind = getattr(errors, fields["kind"], TableFormatError)
    # Constructors build messages from parts; here the message is complete.
    error: TableFormatError = kind.__new__(kind)
    error.args = (shown_paths(fields["message"]),)
    vars(error).update(fields["carried"])
    vars(error).update({key: bytes.fromhex(value) for key, value in fields.get("bytes", {}).items()})
    return error
