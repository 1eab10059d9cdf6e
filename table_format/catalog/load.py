"""Open a catalog from options, with the keys Paimon's engines use (format chapter 15)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from table_format.catalog.filesystem import FileSystemCatalog
from table_format.catalog.protocol import Catalog
from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.io.file_io import FileIO
from table_format.io.local import LocalFileIO
from table_format.io.paths import without_scheme
from table_format.options.catalog import HINTS, METASTORE, REFUSED, TABLE_DEFAULT, WAREHOUSE, CatalogOptions
from table_format.options.check import check_options
from table_format.options.declare import Option, declared_in, parse_group, parse_value
from table_format.runtime import Runtime


def load_catalog(
    options: Mapping[str, str], *, file_io: FileIO | None = None, runtime: Runtime | None = None
) -> Catalog:
    """Open the catalog that the options describe; ``file_io`` replaces the store that the warehouse path names.

    >>> load_catalog({"warehouse": "/tmp/warehouse"}).warehouse
    '/tmp/warehouse'

    Raises:
        InvalidOption: a key is unknown, a value malformed, or ``warehouse`` is missing.
        UnsupportedFeature: the metastore or the store of the warehouse is not supported.
    """
    _check(options)
    parsed = parse_group(CatalogOptions, options)
    if parsed.warehouse is None:
        raise InvalidOption(WAREHOUSE.key, "is required: the root directory of all databases")
    check_options(parsed.table_defaults)
    warehouse = _local_path(parsed.warehouse) if file_io is None else without_scheme(parsed.warehouse)
    io = LocalFileIO() if file_io is None else file_io
    world = runtime or Runtime()
    if parsed.local_cache_dir is not None:
        world = replace(world, cache_directory=str(Path(parsed.local_cache_dir).absolute()))
    return FileSystemCatalog(warehouse, io, world, dict(parsed.table_defaults), dict(options), parsed.shows_options)


def _check(options: Mapping[str, str]) -> None:
    known = {o.key: o for o in (*declared_in(CatalogOptions), *REFUSED, *HINTS) if isinstance(o, Option)}
    for key, value in options.items():
        if TABLE_DEFAULT.matches(key) is not None:
            continue
        option = known.get(key)
        if option is None:
            close = get_close_matches(key, known, n=3, cutoff=0.75)
            advice = f"; did you mean {' or '.join(repr(match) for match in close)}?" if close else ""
            raise InvalidOption(key, f"is not known to a catalog{advice}")
        if not option.is_honoured(parse_value(key, option.parser, value)):
            message = f"catalog option '{key}' = {value!r} is not supported by this version ({option.doc.rstrip('.')})"
            feature = f"{key}={value}"
            raise UnsupportedFeature(feature, message)


def _local_path(warehouse: str) -> str:
    scheme, separator, _ = warehouse.partition("://")
    if separator and scheme != "file":
        message = (
            f"catalog option '{WAREHOUSE.key}' = {warehouse!r}: the store '{scheme}' is not supported by this version; "
            f"it takes a local path, with {METASTORE.key} = filesystem"
        )
        feature = f"{WAREHOUSE.key}={scheme}"
        raise UnsupportedFeature(feature, message)
    return str(Path(without_scheme(warehouse) if warehouse.startswith("file:") else warehouse).absolute())
