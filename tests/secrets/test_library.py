"""Secrets given to the library: refused where everybody would see them, and shown by nothing that stays."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema
from table_format.catalog.filesystem import FileSystemCatalog
from table_format.catalog.load import load_catalog
from table_format.codecs.schema_json import encode_schema
from table_format.errors import InvalidInputError, InvalidOption, TableFormatError, UnsupportedFeature
from table_format.io.memory import MemoryFileIO
from table_format.model.schema_change import AddColumn, SetColumnComment, SetComment, SetOption
from table_format.model.types import DataField, IntType, RowType
from table_format.options import catalog as catalog_options
from table_format.options.catalog import CatalogOptions
from table_format.options.declare import AnyOption, Option, OptionPattern, declared_in, parse_value
from table_format.options.registry import TABLE_OPTIONS
from table_format.options.values import optional, secret, text
from table_format.secrets import MASK, Secret, is_secret_key
from tests.secrets.test_patterns import SECRET_KEYS, TEXTS
from tests.support.canaries import canary, leaks, leaks_in, pickled, texts_of
from tests.support.store_options import OPTIONS_OF_STORES

CATALOG_OPTIONS: tuple[AnyOption, ...] = (*declared_in(CatalogOptions), *catalog_options.REFUSED)
COLUMNS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
HUSH = canary("hush")
URI = f"s3://key:{HUSH}@bucket/warehouse"


def key_of(option: AnyOption) -> str:
    return option.key.replace("<option>", "bucket").replace("<column>", "v").replace("<columns>", "v")


def refusal(call: Callable[[], object], kind: type[TableFormatError] = TableFormatError) -> str:
    """What a refused call shows, its causes and contexts included."""
    with pytest.raises(kind) as refused:
        call()
    return texts_of(refused.value)


@pytest.fixture
def records() -> Iterator[io.StringIO]:
    """Every line that is logged, at every level."""
    text, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(text), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield text
    root.removeHandler(handler)
    root.setLevel(level)


# --- declarations ----------------------------------------------------------------------------------------------------


def test_every_declared_option_whose_key_names_a_secret_is_one() -> None:
    declared = (*TABLE_OPTIONS, *CATALOG_OPTIONS)
    assert len(declared) > 200
    wrong = [o.key for o in declared if is_secret_key(key_of(o)) and not (isinstance(o, Option) and o.is_secret)]
    assert not wrong


@pytest.mark.parametrize("key", SECRET_KEYS)
def test_an_option_that_names_a_secret_cannot_be_declared_as_a_text(key: str) -> None:
    with pytest.raises(TypeError, match="names a secret"):
        Option(key, text, "", "A key.")
    with pytest.raises(TypeError, match="names a secret"):
        Option("plain", text, "", "A key.", fallback_keys=(key,))
    option = Option(key, optional(secret), None, "A key.")
    assert isinstance(option.read({key: HUSH}), Secret)
    assert option.read({key: HUSH}) == HUSH == option.read({key: Secret(HUSH)})
    assert not leaks(repr(option.read({key: HUSH})), HUSH)


# --- options of a catalog --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", CATALOG_OPTIONS, ids=lambda o: o.key)
def test_no_option_of_a_catalog_takes_or_shows_a_secret(option: AnyOption, tmp_path: Path) -> None:
    key = key_of(option)
    for value in (Secret(HUSH), Secret(URI), URI, f"jdbc:mysql://h/d?password={HUSH}", f"token={HUSH}"):
        options: dict[str, str | Secret] = {"warehouse": str(tmp_path), key: value}
        assert not leaks(refusal(lambda given=options: load_catalog(given)), HUSH)
        assert not leaks(refusal(lambda given=options: load_catalog(given, file_io=MemoryFileIO())), HUSH)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", [key for key in SECRET_KEYS if key in OPTIONS_OF_STORES])
def test_a_key_of_a_store_that_only_object_tables_may_use_is_not_shown(key: str, tmp_path: Path) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path), key: HUSH})
    options = catalog.load_any("sys.catalog_options").scan().to_arrow().to_pylist()
    assert {"key": key, "value": MASK} in options
    assert not leaks(repr(catalog), HUSH)
    assert not leaks(refusal(lambda: catalog.load_table("s.t")), HUSH)


@pytest.mark.parametrize("key", [key for key in SECRET_KEYS if key not in OPTIONS_OF_STORES])
def test_an_option_that_names_a_secret_is_refused_by_its_key_alone(key: str, tmp_path: Path) -> None:
    for value in (HUSH, Secret(HUSH)):
        options = {"warehouse": str(tmp_path), key: value}
        shown = refusal(lambda given=options: load_catalog(given), InvalidOption)
        assert key in shown
        assert not leaks(shown, HUSH)


@pytest.mark.parametrize("uri", [t for t in TEXTS if "://" in t and " " not in t])
def test_a_warehouse_with_credentials_is_refused_and_not_repeated(uri: str) -> None:
    shown = refusal(lambda: load_catalog({"warehouse": uri.format(HUSH)}), InvalidOption)
    assert "'warehouse'" in shown
    assert "credentials" in shown
    assert not leaks(shown, HUSH)


def test_a_store_that_is_not_supported_is_named_without_what_the_uri_holds() -> None:
    shown = refusal(lambda: load_catalog({"warehouse": "cosn://bucket/warehouse"}), UnsupportedFeature)
    assert "the store 'cosn' is not supported" in shown


def test_a_catalog_keeps_no_secret(tmp_path: Path) -> None:
    catalog = FileSystemCatalog(str(tmp_path), MemoryFileIO(), options={"x.token": HUSH, "y": Secret(HUSH), "z": URI})
    shown = load_rows(catalog, "sys.catalog_options")
    assert [row["value"] for row in shown] == [MASK, MASK, f"s3://{MASK}@bucket/warehouse"]
    assert not leaks(repr(catalog) + repr(shown) + repr(catalog.options), HUSH)
    on_disk = replace(catalog, io=load_catalog({"warehouse": str(tmp_path)}).io)  # type: ignore[attr-defined]
    assert not leaks(pickled(on_disk), HUSH)


def load_rows(catalog: Any, name: str) -> list[dict[str, Any]]:
    return catalog.load_table(name).scan().to_arrow().to_pylist()


# --- what a table stores ---------------------------------------------------------------------------------------------


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    made = load_catalog({"warehouse": str(tmp_path / "warehouse")})
    made.create_database("s")
    made.create_table("s.t", Schema.from_arrow(COLUMNS, ["id"], options={"bucket": "1"}))
    return made


def test_a_location_of_objects_with_a_secret_enters_no_table(catalog: Any, tmp_path: Path) -> None:
    schema = Schema((), options={"object-location": URI})
    shown = refusal(lambda: catalog.create_table("s.u", schema), InvalidInputError)
    assert "object-location" in shown
    assert not leaks(shown, HUSH)
    assert not leaks_in(tmp_path, HUSH)


TABLE_SECRETS = [
    *[(key, HUSH) for key in SECRET_KEYS],
    ("local-kv-db.password", HUSH),
    ("lookup.cache.token", HUSH),
    ("location", URI),
    ("owner", f"token={HUSH}"),
    ("path", URI),
    ("data-file.external-paths", URI),
    ("object-location", URI),
    ("metastore.tag-to-partition", f"password={HUSH}"),
    ("bucket", f"password={HUSH}"),
    ("merge-engine", URI),
]


@pytest.mark.parametrize(("key", "value"), TABLE_SECRETS)
def test_an_option_with_a_secret_enters_no_table(key: str, value: str, catalog: Any, tmp_path: Path) -> None:
    schema = Schema.from_arrow(COLUMNS, ["id"], options={key: value})
    table = catalog.load_table("s.t")
    calls: list[Callable[[], object]] = [
        lambda: catalog.create_table("s.u", schema),
        lambda: catalog.alter_table("s.t", SetOption(key, value)),
        lambda: table.copy({key: value}),
        lambda: table.scan(options={key: value}),
        lambda: load_catalog({"warehouse": "/w", f"table-default.{key}": value}, file_io=MemoryFileIO()),
    ]
    for call in calls:
        shown = refusal(call, InvalidInputError)
        assert key in shown
        assert not leaks(shown, HUSH)
    assert not leaks(repr(schema) + repr(SetOption(key, value)), HUSH)
    assert not catalog.table_exists("s.u")
    assert not leaks_in(tmp_path, HUSH)


def test_an_option_that_names_a_column_called_password_is_none(catalog: Any) -> None:
    columns = COLUMNS.append(pa.field("password", pa.int64())).append(pa.field("token", pa.int64()))
    options = {
        "bucket": "1",
        "merge-engine": "aggregation",
        "fields.password.aggregate-function": "sum",
        "fields.token.aggregate-function": "max",
    }
    table = catalog.create_table("s.sums", Schema.from_arrow(columns, ["id"], options=options))
    table.append(pa.table({"id": [1, 1], "v": ["a", "b"], "password": [2, 3], "token": [4, 5]}, schema=columns))
    assert table.scan(columns=["password", "token"]).to_arrow().to_pylist() == [{"password": 5, "token": 5}]


COMMENTS = [
    lambda text: Schema.from_arrow(COLUMNS, comment=text),
    lambda text: Schema((DataField(0, "a", IntType(), text),)),
    lambda text: Schema((DataField(0, "a", RowType((DataField(1, "b", IntType(), text),))),)),
]
COMMENT_CHANGES = [
    SetComment,
    lambda text: SetColumnComment("v", text),
    lambda text: AddColumn("w", IntType(), text),
    lambda text: AddColumn("w", RowType((DataField(1, "b", IntType(), text),))),
]


@pytest.mark.parametrize("text", [f"loaded from {URI}", f"use password={HUSH}"])
def test_a_comment_with_a_secret_enters_no_table(text: str, catalog: Any, tmp_path: Path) -> None:
    for made in COMMENTS:
        assert not leaks(refusal(lambda make=made: catalog.create_table("s.u", make(text))), HUSH)
    for change in COMMENT_CHANGES:
        assert not leaks(refusal(lambda make=change: catalog.alter_table("s.t", make(text))), HUSH)
    assert not leaks_in(tmp_path, HUSH)
    catalog.alter_table("s.t", SetComment("holds the token of each session and its password hash"))


def test_a_property_with_a_secret_enters_no_snapshot(catalog: Any, tmp_path: Path) -> None:
    table = catalog.load_table("s.t")
    rows = pa.table({"id": [1], "v": ["a"]}, schema=COLUMNS)
    for properties in ({"jdbc.password": HUSH}, {"from": URI}, {"note": f"token={HUSH}"}):
        assert not leaks(refusal(lambda p=properties: table.append(rows, properties=p), InvalidInputError), HUSH)
        assert not leaks(refusal(lambda p=properties: table.overwrite(rows, properties=p), InvalidInputError), HUSH)
    assert table.latest_snapshot() is None
    assert not leaks_in(tmp_path, HUSH)
    assert not list((tmp_path / "warehouse" / "s.db" / "t").rglob("data-*"))
    # Names of tables stand in keys: a number under one is an id.
    table.append(rows, properties={"consumed.ods.tokens": "12", "dagster.asset": "ods/tokens"})
    assert table.latest_snapshot().properties["consumed.ods.tokens"] == "12"


def test_secrets_in_a_table_that_others_wrote_are_shown_by_nothing(catalog: Any, records: io.StringIO) -> None:
    table = catalog.load_table("s.t")
    foreign = {"fs.s3a.secret.key": HUSH, "source-uri": URI, "comment.x": "plain"}
    schema = replace(table.schema, options={**table.schema.options, **foreign}, comment=f"from {URI}")
    Path(table.store.paths.schema(0)).write_bytes(encode_schema(schema))
    table = catalog.load_table("s.t")
    table.append(pa.table({"id": [1], "v": ["a"]}, schema=COLUMNS))
    read = table.scan(filter="id = 1")
    shown = [repr(table), repr(table.schema), repr(table.facts), repr(table.options), repr(read), str(read.plan())]
    shown += [repr(load_rows(catalog, name)) for name in ("s.t$options", "s.t$schemas", "sys.all_table_options")]
    shown += [repr(value) for value in table.snapshots()]
    assert not leaks("\n".join(shown) + records.getvalue(), HUSH)
    assert "plain" in shown[6]
    assert f"s3://{MASK}@bucket/warehouse" in shown[6]
    # Nothing here knows the key, and no process needs its value.
    for value in (table, table.schema, table.options, table.facts, read.plan(), catalog):
        assert not leaks(pickled(value), HUSH)
    assert read.to_arrow().num_rows == 1
    # The option stays in the table: it belongs to others.
    catalog.alter_table("s.t", SetOption("write-only", "true"))
    assert catalog.load_table("s.t").schema.options["fs.s3a.secret.key"] == HUSH


# --- errors ----------------------------------------------------------------------------------------------------------


def leaves(kind: type[TableFormatError]) -> Iterator[type[TableFormatError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from leaves(child)


ARGUMENTS: dict[str, tuple[object, ...]] = {
    "InvalidOption": ("key",),
    "BucketLost": (b"", 0),
    "CommitOutcomeUnknown": ("user", 1, 1),
    "CorruptionError": ("/t/f",),
    "MissingFile": ("/t/f",),
    "BadEncoding": ("/t/f",),
    "LimitExceeded": ("/t/f",),
}


@pytest.mark.parametrize("kind", sorted(set(leaves(TableFormatError)), key=lambda k: k.__name__))
def test_no_error_of_the_library_shows_a_secret(kind: type[TableFormatError]) -> None:
    if not kind.__module__.startswith("table_format"):
        return
    if kind.__name__ == "Truncated":
        error = kind(URI, expected_bytes=1, found_bytes=0)  # type: ignore[call-arg]
    elif kind.__name__ == "RequestRefused":
        error = kind(f"no store at {URI}", code=403, reason="forbidden")  # type: ignore[call-arg]
    else:
        error = kind(*ARGUMENTS.get(kind.__name__, ()), f"no store at {URI}")
    assert not leaks(f"{error} {error!r} {error.args}", HUSH)
    assert MASK in str(error)


def test_a_refused_value_has_no_error_behind_it_that_shows_it() -> None:
    declared = [o for o in (*TABLE_OPTIONS, *CATALOG_OPTIONS) if isinstance(o, Option | OptionPattern)]
    shown = []
    for option in declared:
        for key in (key_of(option), "x.password"):
            try:
                parse_value(key, option.parser, Secret(HUSH))
            except InvalidOption as error:
                shown.append(texts_of(error))
    assert len(shown) > 100
    assert not leaks("\n".join(shown), HUSH)


def test_keys_of_secrets_are_no_keys_of_options() -> None:
    for option in (*TABLE_OPTIONS, *CATALOG_OPTIONS):
        if isinstance(option, Option):
            assert not is_secret_key(option.key), option.key
