"""System tables: metadata of a table, and other views of its rows, as tables to read (format chapter 14).

``registry`` lists them by name; each other module defines one table or a few related ones.
"""
