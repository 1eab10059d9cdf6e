"""Consumer files, ``consumer/consumer-<name>``: the id of the snapshot to read next (format chapter 03, section 6).

The name of the delta manifest list before it is a member of this project. Apache Paimon ignores members that it does
not know.
"""

from __future__ import annotations

from typing import Final

from table_format.codecs.json_members import JsonMembers
from table_format.codecs.pretty_json import dump_pretty, load_json
from table_format.model.consumer import ConsumerProgress

_NEXT: Final = "nextSnapshot"
_PASSED: Final = "passedDeltaManifestList"


def encode_consumer(progress: ConsumerProgress) -> bytes:
    r"""Return the content of a consumer file.

    >>> encode_consumer(ConsumerProgress(7))
    b'{\n  "nextSnapshot" : 7\n}'
    """
    passed = {} if progress.passed is None else {_PASSED: progress.passed}
    return dump_pretty({_NEXT: progress.next_snapshot, **passed})


def decode_consumer(data: bytes, *, path: str) -> ConsumerProgress:
    """Return the progress of the consumer.

    Raises:
        BadEncoding: the file is not a valid consumer file.
        LimitExceeded: the file is larger than any valid consumer file.
    """
    members = JsonMembers(path, load_json(data, path=path))
    return ConsumerProgress(members.integer(_NEXT), members.optional_file_name(_PASSED))
