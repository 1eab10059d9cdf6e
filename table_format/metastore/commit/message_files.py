"""Finds the files that commit messages would add to a table, and deletes them if the messages are not committed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from table_format.io.table_store import TableStore
from table_format.io.uncommitted_files import delete_uncommitted
from table_format.metastore.manifest.partitions import Partitions
from table_format.model.commit import CommitMessage


@dataclass(frozen=True, slots=True)
class MessageFiles:
    """The names of the data and index files in messages, and the paths of these files and their extra files."""

    names: frozenset[str]
    paths: tuple[str, ...]


def message_files(
    store: TableStore, partitions: Partitions, messages: Iterable[CommitMessage], *, kept: Collection[str] = ()
) -> MessageFiles:
    """Return the new files in messages, without those whose names are ``kept``."""
    names: set[str] = set()
    found: list[str] = []
    for message in messages:
        text = partitions.text(message.partition)
        # An upgraded file is both input and result of a compaction. It belongs to the table, unless it is itself new.
        new_names = {file.file_name for file in message.new_files}
        live_files = (*message.compact_before, *message.deleted_files)
        live = {file.file_name for file in live_files} - new_names
        beside_live = {name for file in live_files for name in file.extra_files}
        for file in (
            *message.new_files,
            *message.changelog_files,
            *message.compact_after,
            *message.compact_changelog_files,
        ):
            if file.file_name not in kept and file.file_name not in live:
                names.add(file.file_name)
                found.extend(store.paths.files_of(text, message.bucket, file))
            elif file.file_name not in kept:
                # A rewritten index is a new extra file of a file of the table.
                own = [name for name in file.extra_files if name not in beside_live]
                found.extend(store.paths.beside(text, message.bucket, file, name) for name in own)
        for index in (*message.new_index_files, *message.compact_new_index_files):
            if index.file_name not in kept:
                names.add(index.file_name)
                found.append(partitions.index_path(store.paths, message.partition, message.bucket, index.file_name))
    return MessageFiles(frozenset(names), tuple(found))


def delete_message_files(store: TableStore, partitions: Partitions, messages: Iterable[CommitMessage]) -> None:
    """Delete all files of messages that were never passed to a commit."""
    delete_uncommitted(store.io, message_files(store, partitions, messages).paths)
