"""The project as its users run it: a webserver, a daemon, runs in processes of their own, and faults."""
