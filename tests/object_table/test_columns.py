"""What a new object table may have, and what of it cannot change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import AddColumn, RemoveOption, RenameColumn, Schema, SetOption, load_catalog
from table_format.errors import InvalidInputError, InvalidOption, InvalidSchema, InvalidSchemaChange, UnsupportedFeature
from table_format.object_table.columns import FIELDS
from table_format.types import IntType
from tests.object_table.conftest import LOCATION, Images

AT = {"object-location": LOCATION}
OTHER = Schema.from_arrow(pa.schema([("a", pa.int32())]))


@pytest.mark.parametrize("options", [AT, {**AT, "type": "Object_Table"}, {**AT, "snapshot.num-retained.max": "20"}])
def test_the_location_makes_an_object_table_and_the_type_is_not_stored(images: Images, options: dict[str, str]) -> None:
    made = images.catalog.create_table("db.more", Schema((), options=options))
    assert made.schema.fields == FIELDS
    assert made.schema.options == {key: value for key, value in options.items() if key != "type"}


def test_the_columns_may_be_given_as_they_are(images: Images) -> None:
    same = images.table.schema
    images.catalog.create_table("db.like", Schema(same.fields, options=same.options))
    assert images.catalog.load_table("db.like").schema.fields == FIELDS


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (replace(OTHER, options=AT), "has fixed columns, so leave them out"),
        (Schema(FIELDS[:7], options=AT), "has fixed columns"),
        (Schema((), primary_keys=("path",), options=AT), "neither a primary key nor partition columns"),
        (Schema((), partition_keys=("name",), options=AT), "neither a primary key nor partition columns"),
        (Schema((), options={"type": "object-table"}), "'object-location' is required"),
        (Schema((), options={**AT, "type": "table"}), "'table' contradicts 'object-location'"),
        (Schema((), options={"object-location": "images"}), "'images' is not an absolute path or a URI"),
        (Schema((), options={"object-location": "foo://b/x"}), "store 'foo' is not supported by this version; it has"),
        (Schema((), options={"object-location": "s3://key:hush@b/x"}), "its value holds a secret"),
        (Schema((), options={"object-location": "/w/db.db"}), "contain each other; choose another location"),
        (Schema((), options={"object-location": "/w/db.db/new/bucket-0"}), "contain each other"),
    ],
)
def test_what_contradicts_an_object_table_is_refused(images: Images, schema: Schema, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as refused:
        images.catalog.create_table("db.new", schema)
    assert "hush" not in str(refused.value)
    assert not images.catalog.table_exists("db.new")


def test_a_default_of_the_catalog_makes_no_object_table(images: Images) -> None:
    options = {"warehouse": "/w", "table-default.object-location": LOCATION}
    catalog = load_catalog(options, file_io=images.io)
    with pytest.raises(InvalidOption, match="makes an object table"):
        catalog.create_table("db.new", OTHER)


@pytest.mark.parametrize(
    "change",
    [
        RenameColumn("name", "title"),
        AddColumn("width", IntType()),
        SetOption("object-location", "/elsewhere"),
        RemoveOption("object-location"),
        SetOption("type", "object-table"),
    ],
)
def test_columns_and_location_cannot_change(images: Images, change: RenameColumn) -> None:
    with pytest.raises((InvalidSchemaChange, InvalidOption)):
        images.catalog.alter_table("db.images", change)
    images.catalog.alter_table("db.images", SetOption("snapshot.num-retained.max", "20"))
    assert images.table.refresh().file_count == 3


def test_an_ordinary_table_does_not_become_an_object_table(images: Images) -> None:
    images.catalog.create_table("db.plain", OTHER)
    with pytest.raises(InvalidOption, match="may not change after the table was created"):
        images.catalog.alter_table("db.plain", SetOption("object-location", LOCATION))


def stored(path: Path, *options: str) -> None:
    schema = path / "schema" / "schema-0"
    text = schema.read_text()
    start = text.index('"options" : {')
    schema.write_text(
        f'{text[:start]}"options" : {{{", ".join(options)}}}, {text[text.index(chr(34) + "time", start) :]}'
    )


def test_object_tables_of_other_releases_are_read_or_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"png")
    catalog = load_catalog({"warehouse": f"{tmp_path}/w"})
    catalog.create_database("db")
    for name in ("old", "live"):
        catalog.create_table(f"db.{name}", Schema((), options={"object-location": "/elsewhere"}))
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.png").write_bytes(b"png")
    # Release 1.0 stores the type.
    stored(tmp_path / "w/db.db/old", '"type" : "object-table"', f'"object-location" : "{tmp_path}/files"')
    old = catalog.load_table("db.old")
    assert old.refresh().file_count == old.scan().count() == 1  # type: ignore[attr-defined]  # it is an object table
    # Since 1.1 there are no rows.
    stored(tmp_path / "w/db.db/live", '"type" : "object-table"')
    with pytest.raises(UnsupportedFeature, match=r"'db\.live' is an object table without 'object-location'"):
        catalog.load_table("db.live")
    catalog.drop_table("db.live")
    with pytest.raises(InvalidSchema, match="at least one column"):
        catalog.create_table("db.live", Schema(()))
