"""What assets, jobs and sensors are given: the catalog and the Spark session, with their secrets."""
