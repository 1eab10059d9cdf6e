"""SQL as text: statements found, told apart and read into facts. Pure; what runs them is ``table_format.spark.sql``.

A script is split into statements (``script``). Each statement has a grammar, found by its first words (``grammar``).
Statements of this library's own, such as CREATE TABLE or CALL, are read word by word (``reader``) into frozen
dataclasses, one module for each family. Queries stay text: ``references`` finds the tables in them with sqlglot, and
``splices`` puts other names in their places.
"""
