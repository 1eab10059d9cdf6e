"""Put-if-absent with a known outcome: the commit point of snapshots and schemas (format chapter 10, section 3).

``FileIO.create`` lets exactly one caller win, but its answer may be lost. The content of the file then shows who won:
it has our bytes or those of another process. Both are final, because published files are never replaced.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from table_format.errors import AlreadyExistsError, BadEncoding, CorruptionError, OutcomeUnknownError
from table_format.io.regular_files import read_file
from table_format.io.table_store import TableStore

_TRIES: Final = 6
_FIRST_WAIT_MS: Final = 20
_REFUSALS: Final = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTDIR}
)


class PutOutcome(StrEnum):
    """The owner of a name after an attempt to create it: we, others, nobody because the store refused, or unknown."""

    OURS = "ours"
    OTHERS = "others"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Put:
    """The owner of the name; ``error`` is the last error, if any."""

    outcome: PutOutcome
    error: OSError | None = None


def put_if_absent(store: TableStore, path: str, data: bytes, *, give_up_ms: int) -> Put:
    """Create a file that must not exist, and determine who created it.

    Repeating the same bytes under the same name is harmless, so an unanswered request is repeated until the monotonic
    time ``give_up_ms``. ``UNKNOWN`` means that the request may have taken effect, or may still do so.
    """
    error: OSError | None = None
    in_doubt = False
    for attempt in range(_TRIES):
        exists = False
        try:
            store.io.create(path, data)
        except FileExistsError:
            exists = True
        except OSError as e:
            error = e
            # An earlier request without an answer may still take effect after a refusal.
            in_doubt = in_doubt or not is_refusal(e)
        else:
            return Put(PutOutcome.OURS)
        found = _look(store, path)
        if isinstance(found, bytes):
            return Put(PutOutcome.OURS if found == data else PutOutcome.OTHERS, error)
        if found is None and exists and error is None:
            # Another process created the file and deleted it; none of our requests is pending.
            return Put(PutOutcome.OTHERS)
        if found is None and error is not None and not in_doubt:
            return Put(PutOutcome.REFUSED, error)
        clock = store.runtime.clock
        wait_ms = _FIRST_WAIT_MS << attempt
        if attempt + 1 == _TRIES or clock.monotonic_ms() + wait_ms >= give_up_ms:
            break
        clock.sleep_ms(wait_ms)
    return Put(PutOutcome.UNKNOWN, error)


def create_new(store: TableStore, path: str, data: bytes, *, what: str, give_up_after_ms: int) -> None:
    """Create a file that must not exist; ``what`` is its name in errors.

    Raises:
        AlreadyExistsError: the file exists with other bytes.
        OutcomeUnknownError: the store did not answer; the file may exist.
        OSError: the store refused; the file does not exist.
    """
    give_up_ms = store.runtime.clock.monotonic_ms() + give_up_after_ms
    put = put_if_absent(store, path, data, give_up_ms=give_up_ms)
    match put.outcome:
        case PutOutcome.OURS:
            return
        case PutOutcome.OTHERS:
            message = f"{path}: {what} already exists"
            raise AlreadyExistsError(message)
        case PutOutcome.REFUSED if put.error is not None:
            raise put.error
    message = f"{path}: the store did not say whether {what} was created; look before trying again"
    raise OutcomeUnknownError(message) from put.error


def is_refusal(error: OSError) -> bool:
    """Return whether the store has refused a request, so that it will not execute it later."""
    return error.errno in _REFUSALS


def create_unique(store: TableStore, path: str, data: bytes) -> None:
    """Create a file whose name is unique.

    Raises:
        BadEncoding: the name is taken by other bytes.
        OSError: the store failed; the file may exist.
    """
    try:
        store.io.create(path, data)
    except FileExistsError as e:
        # The store repeated a request whose answer was lost, and found its own file.
        if read_file(store.io, path) != data:
            raise BadEncoding(path, "expected an unused name, found a file with other content") from e


def _look(store: TableStore, path: str) -> bytes | OSError | None:
    try:
        return read_file(store.io, path)
    except FileNotFoundError:
        return None
    except CorruptionError:
        return b""  # a pipe, a directory, or a file whose size differs from ours
    except OSError as e:
        return e
