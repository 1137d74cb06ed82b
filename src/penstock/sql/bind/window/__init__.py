"""Window clauses, window functions, EMIT."""
