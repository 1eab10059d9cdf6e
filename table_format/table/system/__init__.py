"""System tables: what is known of a table, and other views of its rows, as tables to read (format chapter 14).

``registry`` lists them by name; each module beside it owns one table or a small family.
"""
