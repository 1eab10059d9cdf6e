"""Print the reference of the aggregate functions."""

from __future__ import annotations

import sys

from table_format.kernels.aggregates.functions import functions_markdown

sys.stdout.write(functions_markdown())
