"""SQL on a Spark session: what ``table_format.sql`` has read is carried out, one module for each family of statements.

A query stays the user's text; the names of tables in it become frames (``queries``). All other statements are calls of
the catalog, of a table or of a procedure. ``registry`` lists the families.
"""
