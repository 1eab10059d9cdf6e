"""What a REST server says when a catalog is opened: options of its clients (Java ``ConfigResponse``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from table_format.catalog.rest.client import RestClient
from table_format.catalog.rest.errors import RequestRefused, raise_others
from table_format.errors import UnsupportedFeature
from table_format.io.stores import STORES
from table_format.options.declare import AnyOption, Option, declared_in
from table_format.options.rest import DATA_TOKEN_ENABLED, DLF, HEADER
from table_format.secrets import Secret

PREFIX = "prefix"


def merged_options(client: RestClient, warehouse: str, given: Mapping[str, str | Secret]) -> Mapping[str, str | Secret]:
    """Return the options of a catalog: the server's defaults, those that were given, and what the server overrides.

    Options that this library does not know are left out by those who read them: they are not the user's.

    Raises:
        UnsupportedFeature: the server gives keys of the store for each table. MetastoreUnavailable: it refuses.
    """
    try:
        answer = client.get("config", warehouse=warehouse)
    except RequestRefused as refused:
        raise_others(refused)
    defaults, overrides = (_texts(answer.get(part)) for part in ("defaults", "overrides"))
    merged = {**_guarded(defaults), **given, **_guarded(overrides)}
    if DATA_TOKEN_ENABLED.read(merged):
        feature = f"{DATA_TOKEN_ENABLED.key}=true"
        message = (
            f"the REST catalog at {client.address} gives keys of the store for each table (its option "
            f"'{DATA_TOKEN_ENABLED.key}' is on), which this version does not support"
        )
        raise UnsupportedFeature(feature, message)
    return merged


def _texts(part: object) -> dict[str, str]:
    found = part if isinstance(part, Mapping) else {}
    return {str(key): str(value) for key, value in found.items() if value is not None}


def _guarded(options: Mapping[str, str]) -> dict[str, str | Secret]:
    """Return the options, with the values of secrets as such."""
    secrets = {key for option in _secret_options() for key in option.keys}
    return {
        key: Secret(value) if key in secrets or HEADER.matches(key) or DLF.matches(key) else value
        for key, value in options.items()
    }


def _secret_options() -> Iterator[Option[object]]:
    stores: Iterator[AnyOption] = (o for s in STORES.values() if s.options is not None for o in declared_in(s.options))
    return (option for option in stores if isinstance(option, Option) and option.is_secret)
