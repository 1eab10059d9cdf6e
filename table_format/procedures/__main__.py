"""Print the procedure reference."""

from __future__ import annotations

import sys

from table_format.procedures.documentation import procedures_markdown

sys.stdout.write(procedures_markdown())
