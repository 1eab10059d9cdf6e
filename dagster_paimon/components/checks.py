"""Checks of tables as a component."""
# Annotations are not postponed here: Dagster reads those of a component when the class is made.

import dagster as dg
from pydantic import Field

from dagster_paimon.checks import table_checks


class PaimonChecksComponent(dg.Component, dg.Model, dg.Resolvable):
    """The checks of ``table_checks`` on the assets of some tables.

    Example::

        type: dagster_paimon.PaimonChecksComponent
        attributes:
          tables: ["shop.orders", "shop.users"]
    """

    tables: list[str] = Field(description="Names of tables, each `database.table`.")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:  # noqa: ARG002
        """The checks of each table."""
        return dg.Definitions(asset_checks=table_checks(self.tables))
