"""Window joins: one algorithm a file, on stores that they share."""
