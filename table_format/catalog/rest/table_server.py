"""One table on a REST server: its latest snapshot, commits, rollback and branches."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from table_format.catalog.rest.client import Json, RestClient
from table_format.catalog.rest.errors import (
    CONFLICT,
    NOT_FOUND,
    SNAPSHOT,
    TAG,
    RequestRefused,
    Unanswered,
    raise_others,
)
from table_format.catalog.rest.requests import partition_json
from table_format.catalog.table_names import TableName
from table_format.codecs.publishable import snapshot_bytes
from table_format.codecs.snapshot_json import decode_snapshot
from table_format.errors import (
    AlreadyExistsError,
    BranchNotFound,
    CorruptionError,
    MetastoreUnavailable,
    SnapshotNotFound,
    TableNotFound,
    TagNotFound,
)
from table_format.io.table_server import PartitionChange
from table_format.model.identifier import MAIN_BRANCH, branch_suffix
from table_format.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class RestTableServer:
    """See ``TableServer``. ``table_id`` distinguishes the table from another that replaces it."""

    client: RestClient
    name: TableName
    table_id: str

    def latest(self, branch: str) -> Snapshot | None:
        """Return the latest snapshot of a branch; ``None`` if it has none."""
        try:
            answer = self.client.get(*self._path(branch), "snapshot")
        except RequestRefused as refused:
            if refused.code == NOT_FOUND and refused.kind == SNAPSHOT:
                return None
            self._raise(refused, branch)
        return self._snapshot(answer, branch)

    def commit(self, branch: str, snapshot: Snapshot, changes: Sequence[PartitionChange], *, give_up_ms: int) -> bool:
        """Make a snapshot the latest of a branch; return ``False`` if it does not follow the latest one.

        Raises:
            OSError: there is no answer, or the server failed: the snapshot may be published, or may still be.
        """
        body = {
            "tableId": self.table_id,
            "snapshot": json.loads(snapshot_bytes(snapshot, path=f"{self.name}{branch_suffix(branch)}")),
            "statistics": [partition_json(change) for change in changes],
        }
        try:
            answer = self.client.send("POST", (*self._path(branch), "commit"), body=body, give_up_ms=give_up_ms)
        except Unanswered as error:
            raise OSError(errno.EIO, str(error)) from error
        except RequestRefused as refused:
            if refused.code == CONFLICT:
                return False
            self._raise(refused, branch)
        success = answer.get("success")
        if not isinstance(success, bool):
            message = f"the REST catalog: commit to '{self.name}': the answer does not say whether it was accepted"
            raise OSError(errno.EIO, message)
        return success

    def roll_back(self, branch: str, target: int | str) -> None:
        """Make an earlier snapshot, or that of a tag, the latest of a branch."""
        instant = (
            {"type": "snapshot", "snapshotId": target}
            if isinstance(target, int)
            else {"type": "tag", "tagName": target}
        )
        with self._refusals(branch):
            self.client.post(*self._path(branch), "rollback", body={"instant": instant})

    def create_branch(self, branch: str, name: str, tag: str | None) -> None:
        """Create a branch with the schemas of another one, empty or with the snapshot of a tag."""
        with self._refusals(branch, name):
            self.client.post(*self._path(branch), "branches", body={"branch": name, "fromTag": tag})

    def delete_branch(self, name: str) -> None:
        """Delete a branch."""
        with self._branch_refusals():
            self.client.delete(*self._path(MAIN_BRANCH), "branches", name)

    def rename_branch(self, name: str, new_name: str) -> None:
        """Rename a branch."""
        with self._branch_refusals(new_name):
            self.client.post(*self._path(MAIN_BRANCH), "branches", name, "rename", body={"toBranch": new_name})

    def fast_forward(self, branch: str, source: str) -> None:
        """Replace the history of a branch by that of another."""
        with self._branch_refusals():
            self.client.post(*self._path(branch), "branches", source, "forward", body={})

    # --- parts ------------------------------------------------------------------------------------------------------

    def _path(self, branch: str) -> tuple[str, ...]:
        return ("databases", self.name.database, "tables", f"{self.name.table}{branch_suffix(branch)}")

    def _snapshot(self, answer: Json, branch: str) -> Snapshot:
        place = f"the latest snapshot of '{self.name}{branch_suffix(branch)}' on the server"
        found = answer.get("snapshot") or {}
        try:
            return decode_snapshot(json.dumps(found.get("snapshot") or {}).encode(), path=place)
        except (CorruptionError, AttributeError) as error:
            message = f"the REST catalog: {place} cannot be read: {error}"
            raise MetastoreUnavailable(message) from error

    def _raise(self, refused: RequestRefused, branch: str) -> NoReturn:
        if refused.code == NOT_FOUND:
            message = (
                f"table '{self.name}{branch_suffix(branch)}' was dropped, renamed or replaced after it was opened: "
                f"{refused}"
            )
            raise TableNotFound(message) from refused
        raise_others(refused)

    @contextmanager
    def _refusals(self, branch: str, name: str = "") -> Iterator[None]:
        try:
            yield
        except RequestRefused as refused:
            if refused.code == NOT_FOUND and refused.kind == SNAPSHOT:
                raise SnapshotNotFound(str(refused)) from refused
            if refused.code == NOT_FOUND and refused.kind == TAG:
                raise TagNotFound(str(refused)) from refused
            _refuse_taken_name(refused, name)
            self._raise(refused, branch)

    @contextmanager
    def _branch_refusals(self, new_name: str = "") -> Iterator[None]:
        try:
            yield
        except RequestRefused as refused:
            if refused.code == NOT_FOUND:
                raise BranchNotFound(str(refused)) from refused
            _refuse_taken_name(refused, new_name)
            raise_others(refused)


def _refuse_taken_name(refused: RequestRefused, new_branch: str) -> None:
    """Raise the error for a branch that is there already, if the request was to make one."""
    if refused.code == CONFLICT and new_branch:
        message = f"branch '{new_branch}' already exists; delete it or choose another name"
        raise AlreadyExistsError(message) from refused
