"""The procedure that lists tables of the warehouse which a catalog in a database or a Hive metastore does not list."""

from __future__ import annotations

from typing import Final

from table_format.catalog.repairable import Repairable
from table_format.errors import UnsupportedFeature
from table_format.procedures.arguments import NAMES, ArgumentType, required
from table_format.procedures.declare import Call, Procedure, done


def _repair(call: Call) -> None:
    catalog = call.catalog
    if not isinstance(catalog, Repairable):
        message = f"procedure '{call.procedure}': this catalog lists the directories of the warehouse, so it lacks none"
        feature = "repair of a file-system catalog"
        raise UnsupportedFeature(feature, message)
    names: tuple[str, ...] = call["database_or_table"]
    if not names:
        catalog.repair_catalog()
    for name in names:
        if "." in name:
            catalog.repair_table(name)
        else:
            catalog.repair_database(name)


_NAMES: Final = ArgumentType(
    f"{NAMES.words}, or an empty text", lambda value: () if value == "" else NAMES.convert(value)
)
REPAIR: Final = Procedure(
    "repair",
    "List tables whose directories exist in the warehouse, but which the database of a JDBC catalog, or a Hive "
    "metastore, does not list.",
    (required("database_or_table", _NAMES, "Tables, or databases with all of their tables; an empty text means all."),),
    done(_repair),
)
