"""Procedures: operations on a table or a catalog that are called by name, with arguments as values or text, and
return rows.

``CALL sys.<name>(...)``, command lines and jobs use the same list. ``registry`` has the list; the other modules
declare procedures by topic; ``run`` checks the arguments and calls a procedure; ``operations`` are the parts that
engines implement themselves.
"""
