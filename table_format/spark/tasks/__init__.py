"""Work inside Spark's tasks: the library is shipped to workers, and results or errors come back to the driver."""
