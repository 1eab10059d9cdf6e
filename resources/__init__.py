"""Resources of the shop besides those of ``dagster_paimon``: the landing zone of its change files."""
