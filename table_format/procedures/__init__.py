"""Procedures: what one does to a table or a catalog by name, with arguments that may be text, and rows as a result.

The list is the same for ``CALL sys.<name>(...)``, a command line and jobs. ``registry`` has it; each module beside it
declares a family; ``run`` checks the arguments and calls one; ``operations`` is what an engine does in its own way.
"""
