"""The options of all stores, which every catalog accepts."""

from __future__ import annotations

from typing import Final

from table_format.io.stores import STORES
from table_format.options.declare import Option, declared_in

OPTIONS_OF_STORES: Final = frozenset(
    key
    for store in STORES.values()
    if store.options is not None
    for option in declared_in(store.options)
    if isinstance(option, Option)
    for key in option.keys
)
