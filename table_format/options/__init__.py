"""Options of tables and catalogs: declared once, typed, and grouped in frozen dataclasses (format chapter 13)."""
