"""Each of these used to be acknowledged, and nobody could read the table again. Two checks refuse them, each alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from table_format.catalog import named_catalog
from table_format.codecs import pretty_json, publishable
from table_format.errors import BadEncoding, InvalidInputError
from table_format.metastore.references import tag_store as tags
from table_format.metastore.schema import schema_changes
from table_format.model import arguments
from table_format.model.schema_change import SchemaChange, SetComment, SetOption
from tests.support.odd_arguments import CALLS, KINDS, ROWS, everything, outcome, outcome_of
from tests.support.tables import memory_warehouse

UNREADABLE: dict[str, tuple[str, dict[str, Any]]] = {
    "a text as identifier": ("append", {"identifier": "7"}),
    "a bool as identifier": ("append", {"identifier": True}),
    "an identifier of 65 bits": ("commit", {"identifier": 2**63}),
    "a number as commit user": ("append", {"commit_user": 5}),
    "a text as watermark": ("commit", {"watermark": "x"}),
    "a watermark of 65 bits": ("commit.overwrite", {"watermark": 2**63}),
    "half a surrogate pair as property": ("delete", {"properties": {"a": "\ud800"}}),
    "a number as property": ("update", {"properties": {"a": 1}}),
    "a number as comment": ("SetComment", {"comment": 5}),
    "a number as comment of a column": ("SetColumnComment", {"comment": 5}),
    "half a surrogate pair as comment": ("AddColumn", {"comment": "\ud800"}),
    "less than no time for a tag": ("create_tag", {"time_retained_ms": -1}),
    "a time of a tag beyond all calendars": ("replace_tag", {"time_retained_ms": 2**63}),
}


def _without_checks_of_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    def untouched(value: Any, *_: Any, **__: Any) -> Any:
        return value

    def listed(changes: Sequence[SchemaChange]) -> tuple[SchemaChange, ...]:
        return tuple(changes)

    for name in ("optional_whole_number", "commit_user"):
        monkeypatch.setattr(arguments, name, untouched)
    monkeypatch.setattr(arguments, "whole_numbers", lambda values, _: tuple(values))
    monkeypatch.setattr(arguments, "texts_by_text", lambda value, _: dict(value or {}))
    monkeypatch.setattr(tags, "optional_whole_number", untouched)
    monkeypatch.setattr(schema_changes, "checked_changes", listed)
    monkeypatch.setattr(named_catalog, "checked_changes", listed)


def _without_reading_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishable, "_read_back", lambda _fact, data, _decode, _path: data)
    # And what encoders refuse by themselves becomes something that they take.
    monkeypatch.setattr(pretty_json, "_quoted", lambda text: f'"{str(text).encode("utf-8", "replace").decode()}"')


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", UNREADABLE)
def test_what_nobody_could_read_is_refused(case: str, kind: str):
    name, odd = UNREADABLE[case]
    assert outcome(name, kind, {**CALLS[name].arguments, **odd}) != "accepted"


@pytest.mark.parametrize("case", UNREADABLE)
def test_reading_back_refuses_it_where_nobody_checks_the_arguments(case: str, monkeypatch: pytest.MonkeyPatch):
    _without_checks_of_arguments(monkeypatch)
    name, odd = UNREADABLE[case]
    try:
        became = outcome(name, "keyed", {**CALLS[name].arguments, **odd})
    except (TypeError, AttributeError):
        return  # the comparison of an identifier with that of the last commit
    assert became != "accepted"


def test_without_either_check_the_law_is_broken(monkeypatch: pytest.MonkeyPatch):
    _without_checks_of_arguments(monkeypatch)
    _without_reading_back(monkeypatch)
    # A commit reads its snapshot again, and then does not know whether it was published.
    broken: dict[str, tuple[type[Exception], str]] = {
        "an identifier of 65 bits": (AssertionError, "It is not known whether .* and changed"),
        "a watermark of 65 bits": (AssertionError, "It is not known whether .* and changed"),
        "less than no time for a tag": (BadEncoding, "tag-"),
    }
    for case, (error, text) in broken.items():
        name, odd = UNREADABLE[case]
        with pytest.raises(error, match=text):
            outcome(name, "keyed", {**CALLS[name].arguments, **odd})


def test_an_integer_of_numpy_is_the_integer():
    table = memory_warehouse().table("t")
    (snapshot,) = table.append(ROWS, commit_user="u", identifier=np.int64(7))  # type: ignore[arg-type]
    assert type(snapshot.commit_identifier) is int
    assert table.append(ROWS, commit_user="u", identifier=7) == ()
    assert table.new_commit("u").is_committed(np.uint8(7))  # type: ignore[arg-type]


def test_properties_and_options_above_the_limit_of_readers_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pretty_json, "MAX_JSON_BYTES", 64 * 1024)
    large = "x" * 70_000
    for action in (
        lambda _c, t: t.append(ROWS, properties={"a": large}),
        lambda c, _t: c.alter_table("db.t", SetComment(large)),
        lambda c, _t: c.alter_table("db.t", SetOption("commit.user-prefix", large)),
    ):
        assert outcome_of(action, "keyed") == "InvalidInputError"


def test_a_tag_above_the_limit_of_readers_is_refused_though_its_snapshot_is_not(monkeypatch: pytest.MonkeyPatch):
    warehouse = memory_warehouse()
    table = warehouse.table("t")
    table.append(ROWS, properties={"a": "x" * 10_000})
    path = table.store.paths.snapshot(1)
    monkeypatch.setattr(pretty_json, "MAX_JSON_BYTES", len(warehouse.io.read(path)) + 10)
    before = everything(warehouse.io)
    with pytest.raises(InvalidInputError, match=r"tag-n: .* bytes of JSON; the maximum is"):
        table.create_tag("n", time_retained_ms=1000)
    assert everything(warehouse.io) == before
