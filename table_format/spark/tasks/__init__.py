"""Work inside Spark tasks: the library is sent to workers, and results or errors are returned to the driver."""
