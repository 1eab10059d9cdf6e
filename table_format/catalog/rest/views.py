"""The views of a catalog on a REST server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from table_format.catalog.catalog_with_views import no_view
from table_format.catalog.rest.errors import CONFLICT, DIALECT, NOT_FOUND, RequestRefused, raise_others
from table_format.catalog.rest.names import RestNames
from table_format.catalog.rest.requests import identifier_json, view_changes_json
from table_format.catalog.table_names import TableName
from table_format.codecs.view_json import decode_view, encode_view
from table_format.errors import AlreadyExistsError, NotFoundError, ViewNotFound
from table_format.model.identifier import Identifier
from table_format.model.view import View


@dataclass(frozen=True, slots=True)
class RestViews:
    """See ``KeptViews``."""

    names: RestNames

    def of_database(self, database: str) -> Sequence[str]:
        """Return the names of the views of a database."""
        try:
            return list(self.names.client.listed("views", "databases", database, "views"))
        except RequestRefused as refused:
            if refused.code == NOT_FOUND:
                return ()
            raise_others(refused)

    def has(self, identifier: Identifier) -> bool:
        """Return whether there is a view of this name."""
        return self._found(identifier) is not None

    def find(self, identifier: Identifier) -> View | None:
        """Return a view; ``None`` if there is none of this name."""
        found = self._found(identifier)
        return None if found is None else decode_view(identifier, json.dumps(found.get("schema") or {}))

    def create(self, view: View, *, ignore_if_exists: bool, replace: bool) -> None:
        """Store a view; see ``KeptViews``. To replace one takes two requests: it is dropped, and created again."""
        name = _name(view.identifier)
        if self.names.find(name) is not None:
            message = f"view '{name}' cannot be created: there is a table of this name"
            raise AlreadyExistsError(message)
        if replace:
            self.drop(view.identifier, ignore_if_not_exists=True)
        body = {"identifier": identifier_json(name), "schema": json.loads(encode_view(view))}
        try:
            self.names.client.post("databases", name.database, "views", body=body)
        except RequestRefused as refused:
            if refused.code != CONFLICT:
                raise_others(refused)
            if not ignore_if_exists:
                message = f"view '{name}' already exists"
                raise AlreadyExistsError(message) from refused

    def change(self, identifier: Identifier, change: Callable[[View], View]) -> View:
        """Send the server what ``change`` makes of a view; see ``KeptViews``."""
        before = self.find(identifier)
        if before is None:
            raise self.not_found(identifier)
        changed = change(before)
        changes = list(view_changes_json(before, changed))
        if changes:
            try:
                self.names.client.post(*_path(identifier), body={"changes": changes})
            except RequestRefused as refused:
                if refused.code == NOT_FOUND and refused.kind == DIALECT:
                    raise NotFoundError(str(refused)) from refused
                if refused.code == NOT_FOUND:
                    raise self.not_found(identifier) from refused
                if refused.code == CONFLICT:
                    raise AlreadyExistsError(str(refused)) from refused
                raise_others(refused)
        return changed

    def rename(self, source: Identifier, target: Identifier) -> None:
        """Rename a view; see ``KeptViews``."""
        old, new = _name(source), _name(target)
        if self.names.find(new) is not None:
            message = f"view '{old}' cannot be renamed to '{new}': there is a table of this name"
            raise AlreadyExistsError(message)
        body = {"source": identifier_json(old), "destination": identifier_json(new)}
        try:
            self.names.client.post("views", "rename", body=body)
        except RequestRefused as refused:
            if refused.code == NOT_FOUND:
                raise self.not_found(source) from refused
            if refused.code == CONFLICT:
                message = f"view '{old}' cannot be renamed to '{new}': there is a view of this name"
                raise AlreadyExistsError(message) from refused
            raise_others(refused)

    def drop(self, identifier: Identifier, *, ignore_if_not_exists: bool) -> None:
        """Drop a view; see ``KeptViews``."""
        try:
            self.names.client.delete(*_path(identifier))
        except RequestRefused as refused:
            if refused.code != NOT_FOUND:
                raise_others(refused)
            if not ignore_if_not_exists:
                raise self.not_found(identifier) from refused

    def not_found(self, identifier: Identifier) -> ViewNotFound:
        """Return the error for a view that does not exist."""
        name = _name(identifier)
        return no_view(name, is_table=self.names.find(name) is not None, views=self.of_database(name.database))

    def _found(self, identifier: Identifier) -> Mapping[str, Any] | None:
        return self.names.client.find(*_path(identifier))


def _path(identifier: Identifier) -> tuple[str, ...]:
    return ("databases", identifier.database, "views", identifier.table)


def _name(identifier: Identifier) -> TableName:
    return TableName(identifier.database, identifier.table)
