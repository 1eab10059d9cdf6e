"""DELETE, UPDATE and MERGE, on append tables and on tables with a primary key."""
