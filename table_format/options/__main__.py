"""Print the option reference."""

from __future__ import annotations

import sys

from table_format.options.documentation import options_markdown

sys.stdout.write(options_markdown())
