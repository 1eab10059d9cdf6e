"""The procedure reference, from the declarations: ``python -m table_format.procedures > docs/procedures.md``."""

from __future__ import annotations

from typing import Final

from table_format.procedures.arguments import Argument
from table_format.procedures.registry import PROCEDURES

_INTRODUCTION: Final = """\
# Procedures

Made by `python -m table_format.procedures`; do not edit. Names and arguments are those of Apache Paimon where it has
the procedure. Every value may be given as text. Upper and lower case, `_` and `-` do not matter in argument names.

```python
from table_format.procedures.operations import InProcess
from table_format.procedures.run import run_procedure

run_procedure(InProcess(catalog), "expire_snapshots", {"table": "shop.orders", "retain_max": "10"})
```
"""


def procedures_markdown() -> str:
    """All procedures as Markdown."""
    parts = [_INTRODUCTION]
    for procedure in PROCEDURES.values():
        result = ", ".join(f"`{field.name}` {field.type}" for field in procedure.columns)
        parts += [f"## {procedure.name}\n", f"{procedure.summary} Result: {result}.\n"]
        parts += ["| Argument | Default | Takes | Meaning |\n|---|---|---|---|"]
        parts += [_row(argument) for argument in procedure.arguments]
        parts.append("")
    return "\n".join(parts)


def _row(argument: Argument) -> str:
    default = "required" if argument.required else "" if argument.default is None else str(argument.default).lower()
    return f"| `{argument.name}` | {default} | {argument.type.words} | {argument.help} |"
