"""Processes that write, look after and read one table on a real disk while signals kill, interrupt and stop them.

``python -m tests.torture --minutes 10`` runs it. A model outside the library knows from the commit user and identifier
of a snapshot what that commit has to change, replays every snapshot and compares it with what a scan gives.
"""
