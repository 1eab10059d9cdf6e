"""Open a catalog from options. The keys are the same as in Paimon's engines (format chapter 15)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from table_format.catalog.protocol import Catalog
from table_format.catalog.registry import CATALOGS, CatalogArguments, CatalogKind
from table_format.decoded_files import DecodedFiles
from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.io.file_io import FileIO
from table_format.io.locations import Locations
from table_format.io.paths import without_scheme
from table_format.io.stores import LOCAL_SCHEME, STORES, Store, scheme_of
from table_format.model import arguments
from table_format.nearest_names import did_you_mean
from table_format.options.catalog import (
    METASTORE,
    REFUSED,
    TABLE_DEFAULT,
    WAREHOUSE,
    CatalogOptions,
)
from table_format.options.check import check_options
from table_format.options.check_secrets import refuse_secret
from table_format.options.declare import AnyOption, Option, OptionPattern, declared_in, parse_group, parse_value
from table_format.runtime import Runtime
from table_format.secrets import Secret, holds_secret, redact, shown_option


def load_catalog(
    options: Mapping[str, str | Secret | os.PathLike[str]],
    *,
    file_io: FileIO | None = None,
    runtime: Runtime | None = None,
) -> Catalog:
    """Open the catalog that the options describe. ``file_io`` replaces the store of the warehouse path.

    Pass secrets as ``Secret``. No message, ``repr`` or system table shows them.

    >>> load_catalog({"warehouse": "/tmp/warehouse"}).warehouse
    '/tmp/warehouse'

    Raises:
        InvalidOption: a key is unknown, a value malformed, ``warehouse`` is missing or holds credentials, or a secret
            is given for an option that is shown as plain text.
        UnsupportedFeature: the metastore or the store of the warehouse is not supported.
    """
    if not isinstance(options, Mapping):
        arguments.refuse("options", 'a mapping such as {"warehouse": "/data/warehouse"}', options)
    given = {key: os.fspath(value) if isinstance(value, os.PathLike) else value for key, value in options.items()}
    kind = CATALOGS.get(METASTORE.read(given))
    if kind is not None and kind.warehouse is not None and WAREHOUSE.key not in given:
        given[WAREHOUSE.key] = kind.warehouse(_own_options(kind, given))
    # Those of other stores serve the locations of object tables.
    stores = dict.fromkeys(option for each in STORES.values() for option in _options_of(each))
    _check(given, (*_options_of(kind), *stores))
    parsed = parse_group(CatalogOptions, given)
    if parsed.warehouse is None:
        is_name = kind is not None and not kind.in_directories
        what = "the name of the warehouse on the server" if is_name else "the root directory of all databases"
        raise InvalidOption(WAREHOUSE.key, f"is required: {what}")
    check_options(parsed.table_defaults)
    if kind is None:
        raise _unknown_metastore(parsed.metastore)
    if kind.in_directories:
        warehouse, io = _opened_warehouse(parsed.warehouse, given, file_io)
    else:
        warehouse, io = parsed.warehouse, file_io or Locations().find("/").io
    world = runtime or Runtime()
    if parsed.local_cache_dir is not None:
        world = replace(world, cache_directory=str(Path(parsed.local_cache_dir).absolute()))
    if world.decoded is None:
        world = replace(world, decoded=DecodedFiles(parsed.manifest_cache))
    return kind.open(
        CatalogArguments(
            warehouse,
            io,
            world,
            dict(parsed.table_defaults),
            given,
            parsed.shows_options,
            _own_options(kind, given),
            Locations(given, file_io),
        )
    )


def _opened_warehouse(
    warehouse: str, options: Mapping[str, str | Secret], file_io: FileIO | None
) -> tuple[str, FileIO]:
    """Return the path of a warehouse in its store, and the store."""
    if file_io is not None:
        return without_scheme(warehouse), file_io
    store = STORES.get(scheme_of(warehouse))
    if store is None:
        raise _unknown_store(warehouse)
    _refuse_missing_slashes(warehouse)
    io = store.open(store.completed(_own_options(store, options), warehouse))
    # Last, because errors show the path by this URI from then on, even those about another path.
    return store.place_of(warehouse), io


def _refuse_missing_slashes(warehouse: str) -> None:
    """Refuse ``s3:/bucket``, which would be a local directory of the name ``s3:``."""
    scheme, colon, rest = warehouse.partition(":")
    if colon and not rest.startswith("//") and scheme.lower() in STORES and scheme.lower() != LOCAL_SCHEME:
        meant = f"{scheme}://{rest.lstrip('/')}"
        message = f"{redact(warehouse)!r} is no address of the store '{scheme.lower()}': write {redact(meant)!r}"
        raise InvalidOption(WAREHOUSE.key, message)


def _options_of(part: CatalogKind | Store | None) -> tuple[AnyOption, ...]:
    return () if part is None or part.options is None else tuple(declared_in(part.options))


def _own_options(part: CatalogKind | Store, options: Mapping[str, str | Secret]) -> object:
    return None if part.options is None else parse_group(part.options, options)


def _check(options: Mapping[str, str | Secret], own: tuple[AnyOption, ...]) -> None:
    """Refuse unknown and malformed options. ``own`` lists the options of this metastore and of the stores."""
    declared = (*REFUSED, *declared_in(CatalogOptions), *own)
    known = {key: o for o in declared if isinstance(o, Option) for key in o.keys}
    families = [o for o in own if isinstance(o, OptionPattern)]
    for key, value in options.items():
        part = TABLE_DEFAULT.matches(key)
        if part is not None:
            refuse_secret(part, value)
            continue
        family = next((o for o in families if o.matches(key) is not None), None)
        if family is not None:
            _check_member(family, key, value)
            continue
        option = known.get(key)
        if option is None:
            advice = did_you_mean(key, known, show=repr, cutoff=0.75)
            raise InvalidOption(key, f"is not known to a catalog{advice}")
        shown = shown_option(key, value)
        read = parse_value(key, option.parser, value)
        if option is METASTORE and read not in CATALOGS:
            raise _unknown_metastore(read)
        if not option.is_honoured(read):
            message = f"catalog option '{key}' = {shown!r} is not supported by this version ({option.doc.rstrip('.')})"
            feature = f"{key}={shown}"
            raise UnsupportedFeature(feature, message)
        if isinstance(value, Secret) and not option.is_secret:
            raise InvalidOption(key, "must not be a Secret: its value is shown in plain text; pass it as a string")
        if isinstance(value, str) and not option.is_secret:
            refuse_credentials(key, value)


def _check_member(family: OptionPattern[object], key: str, value: str | Secret) -> None:
    parse_value(key, family.parser, value)
    if not family.supported:
        message = f"catalog option '{key}' is not supported by this version ({family.doc.rstrip('.')})"
        raise UnsupportedFeature(key, message)


def refuse_credentials(key: str, value: str) -> None:
    """Refuse a location, or another plain text, that contains a password, key or token.

    Raises:
        InvalidOption: names the option but not its value.
    """
    if holds_secret(value):
        message = (
            "its value holds credentials (a password, key or token), and it is shown in paths, plans and messages; "
            "remove them, and pass them in the options for credentials"
        )
        raise InvalidOption(key, message)


def _unknown_metastore(name: str) -> InvalidOption:
    known = f"it has {', '.join(CATALOGS)}; register_catalog adds others"
    return InvalidOption(METASTORE.key, f"{name!r} is not a legal value; {known}")


def _unknown_store(warehouse: str) -> UnsupportedFeature:
    scheme = scheme_of(warehouse)
    message = (
        f"catalog option '{WAREHOUSE.key}' = {redact(warehouse)!r}: the store '{scheme}' is not supported by this "
        f"version; it has {', '.join(STORES)}; register_store adds others"
    )
    feature = f"{WAREHOUSE.key}={scheme}"
    return UnsupportedFeature(feature, message)
