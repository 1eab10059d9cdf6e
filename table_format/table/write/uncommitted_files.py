"""The uncommitted files of a write, by bucket: files in its messages that no snapshot holds yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from operator import itemgetter

from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta


class UncommittedFiles:
    """The files of messages until they are committed, and which of them are results of compaction."""

    def __init__(self) -> None:
        # One place for each file, with the number of the call that returned it: an interrupt can strike anywhere.
        self._waiting: dict[BucketId, dict[str, tuple[int, DataFileMeta]]] = {}
        self._calls = 0
        self._compacted: dict[BucketId, set[str]] = {}

    def __bool__(self) -> bool:
        """Whether a file waits for its commit."""
        return any(self._waiting.values())

    @property
    def partitions(self) -> frozenset[bytes]:
        """The partitions with files that wait for their commit."""
        return frozenset(bucket_id.partition for bucket_id, names in self._waiting.items() if names)

    def add(self, messages: Iterable[CommitMessage]) -> None:
        """Note that these messages are returned."""
        self._calls += 1
        for message in messages:
            bucket_id = message.bucket_id
            files = {file.file_name: (self._calls, file) for file in message.new_files}
            self._waiting.setdefault(bucket_id, {}).update(files)
            self._compacted.setdefault(bucket_id, set()).update(file.file_name for file in message.compact_after)

    def settle(self, bucket_id: BucketId, committed: Set[str]) -> Set[str]:
        """Forget the files of a bucket that are committed, and return them."""
        waiting = self._waiting.get(bucket_id, {})
        arrived = waiting.keys() & committed
        self._waiting[bucket_id] = {name: file for name, file in waiting.items() if name not in arrived}
        return arrived

    def waiting(self) -> Iterator[tuple[BucketId, DataFileMeta]]:
        """Yield the files that wait for their commit, in the order of the calls that returned them."""
        places = (
            (call, bucket_id, file) for bucket_id, files in self._waiting.items() for call, file in files.values()
        )
        for _, bucket_id, file in sorted(places, key=itemgetter(0)):
            yield bucket_id, file

    def is_passed(self, name: str, committed: Set[str]) -> bool:
        """Return whether a waiting file is older than one of those that are committed: a later call returned that."""
        files = {found: call for names in self._waiting.values() for found, (call, _) in names.items()}
        return any(call > files[name] for found, call in files.items() if found in committed)

    def waits(self, bucket_id: BucketId) -> bool:
        """Whether a file of the bucket waits for its commit."""
        return bool(self._waiting.get(bucket_id))

    def forget_compacted(self, bucket_id: BucketId) -> None:
        """Note that results of compaction in this bucket no longer belong to an active writer."""
        self._compacted.pop(bucket_id, None)

    def holds(self, name: str) -> bool:
        """Whether a file is one of these, or a result of compaction of an active writer."""
        return any(name in names for names in (*self._compacted.values(), *self._waiting.values()))
