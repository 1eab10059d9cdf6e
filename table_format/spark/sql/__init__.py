"""SQL on a Spark session: executes the statements that ``table_format.sql`` parses, with a module for each family.

A query stays the text of the user, in which DataFrames replace the names of tables (``queries``). All other statements
are calls of the catalog, of a table or of a procedure. ``registry`` lists the families.
"""
