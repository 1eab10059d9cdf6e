"""``python -m table_format.cli`` runs the command line if the script ``lakehouse`` is not on the path."""

from __future__ import annotations

from table_format.cli import main

if __name__ == "__main__":
    main()
