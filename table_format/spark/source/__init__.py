"""``format("paimon")``: the table format as a Python data source of Spark."""
