"""Options of tables and catalogs: declared once, typed, gathered in frozen groups (format chapter 13)."""
