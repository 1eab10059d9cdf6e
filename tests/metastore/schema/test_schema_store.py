from __future__ import annotations

from dataclasses import replace

import pytest

from table_format.errors import (
    AlreadyExistsError,
    BadEncoding,
    CommitRetriesExhausted,
    InvalidSchemaChange,
    MissingFile,
    TableNotFound,
    TableReplaced,
)
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.schema_change import AddColumn, SetComment, SetOption
from table_format.model.types import IntType
from tests.support.metastore_table import a_table, once


def test_the_latest_schema_is_found_by_asking_for_the_next():
    table = a_table()
    store, other = SchemaStore(table.store), SchemaStore(table.store)
    assert store.latest().id == 0
    other.change([SetComment("x")])
    table.io.calls.clear()
    assert store.latest_id() == 1
    assert "list" not in {verb for verb, _ in table.io.calls}
    assert store.all() == {0: table.schema, 1: other.latest()}


def test_without_schema_there_is_no_table():
    table = a_table()
    table.store.io.delete(table.store.paths.schema(0))
    store = SchemaStore(table.store)
    assert store.latest_id() is None
    with pytest.raises(TableNotFound, match="no table at /w/db"):
        store.latest()
    with pytest.raises(MissingFile, match="schema-7"):
        store.load(7)


def test_a_table_created_again_is_not_taken_for_the_old_one():
    table = a_table()
    store = SchemaStore(table.store)
    store.change([SetComment("old")])
    table.store.io.delete_tree(table.store.paths.root)
    SchemaStore(table.store).create(replace(table.schema, comment="new"))
    assert store.latest().comment == "new"


def test_a_schema_under_another_id_is_corrupt():
    table = a_table()
    table.store.io.create(table.store.paths.schema(1), table.store.io.read(table.store.paths.schema(0)))
    with pytest.raises(BadEncoding, match="expected schema 1, found schema 0"):
        SchemaStore(table.store).latest()


def test_an_id_is_used_only_once():
    table = a_table()
    with pytest.raises(AlreadyExistsError, match="schema 0 already exists"):
        SchemaStore(table.store).create(replace(table.schema, comment="other"))


def test_a_change_is_applied_again_to_what_another_wrote():
    table = a_table()
    store, other = SchemaStore(table.store), SchemaStore(table.store)
    table.io.before("create", "schema-1", once(lambda: other.change([AddColumn("a", IntType())])))
    changed = store.change([AddColumn("b", IntType())])
    assert (changed.id, changed.field_names) == (2, ("k", "dt", "v", "a", "b"))
    assert [f.id for f in changed.fields] == [0, 1, 2, 3, 4]
    assert changed.time_millis == table.clock.ms


def test_a_schema_change_gives_up_after_too_many_lost_attempts():
    table = a_table()
    store, other = SchemaStore(table.store), SchemaStore(table.store)
    for i in range(1, 20):
        table.io.before("create", f"/schema-{i}", once(lambda i=i: other.change([SetComment(str(i))])))
    with pytest.raises(CommitRetriesExhausted):
        store.change([SetOption("x", "y")])


def test_a_change_may_be_refused_or_change_nothing():
    table = a_table()
    store = SchemaStore(table.store)

    def refuse(old, new):
        message = f"{old.id} {new.id}"
        raise InvalidSchemaChange(message)

    with pytest.raises(InvalidSchemaChange, match="0 1"):
        store.change([SetComment("x")], check=refuse)
    assert store.change([SetComment(None)], check=refuse) == table.schema
    assert store.latest_id() == 0


def test_a_table_dropped_while_its_schema_is_read_is_not_damaged_but_gone():
    table = a_table()
    table.io.before("read", "schema-0", lambda: table.store.io.delete_tree(table.store.paths.root))
    with pytest.raises(TableNotFound, match="it has no schema on branch 'main'"):
        SchemaStore(table.store).latest()


def test_a_schema_whose_predecessor_another_table_replaced_is_taken_back():
    table = a_table()
    store = SchemaStore(table.store)

    def create_again():
        table.store.io.delete_tree(table.store.paths.root)
        SchemaStore(table.store).create(replace(table.schema, comment="new"))

    table.io.before("create", "schema-1", once(create_again))
    with pytest.raises(TableReplaced, match="was replaced while its schema was changed"):
        store.change([SetComment("x")])
    assert {i: s.comment for i, s in SchemaStore(table.store).all().items()} == {0: "new"}
