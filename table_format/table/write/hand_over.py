"""Passes the messages of bucket writers to the caller of a write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.table.facts import TableFacts
from table_format.table.placement.placement import Placement
from table_format.table.write.message_folding import delete_left_over, fold


class HandOver:
    """Collects messages, and returns one for each bucket with everything that its commit needs."""

    def __init__(self, facts: TableFacts, placement: Placement) -> None:
        self._facts = facts
        self._placement = placement
        self._messages: list[CommitMessage] = []

    def keep(self, message: CommitMessage) -> None:
        """Add the message of a writer. This object deletes its files unless the message is returned."""
        self._messages.append(message)

    def complete(self, numbers_bases: Mapping[BucketId, str]) -> tuple[CommitMessage, ...]:
        """Return the messages since the last call; the caller deletes their files if they are not committed.

        ``numbers_bases`` are the snapshots from which the sequence numbers of new rows continue.
        """
        folded = fold(self._messages)
        delete_left_over(self._facts, folded)
        self._messages = list(folded.messages)
        for position, message in enumerate(self._placement.complete(folded.messages)):
            self._messages[position] = message
        self._messages = [_with_numbers_base(message, numbers_bases) for message in self._messages]
        messages, self._messages = tuple(self._messages), []
        return messages

    def abort(self) -> None:
        """Delete the files of all messages that were not returned."""
        if self._messages:
            self._facts.delete_message_files(self._messages)
        self._messages = []


def _with_numbers_base(message: CommitMessage, numbers_bases: Mapping[BucketId, str]) -> CommitMessage:
    base = numbers_bases.get(message.bucket_id)
    return message if base is None or not message.new_files else replace(message, numbers_base=base)
