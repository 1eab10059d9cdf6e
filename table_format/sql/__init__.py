"""Parses SQL statements into frozen dataclasses. Nothing is executed here; ``table_format.spark.sql`` does that.

A script is split into statements (``script``). The first words of a statement select its grammar (``grammar``).
Statements that this library runs itself, such as CREATE TABLE or CALL, are read word by word (``reader``) into frozen
dataclasses, with one module for each family. Queries stay text: ``references`` finds their tables with sqlglot, and
``splices`` replaces the names.
"""
