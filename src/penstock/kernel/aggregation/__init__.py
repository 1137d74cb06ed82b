"""Window aggregation: one algorithm per file."""
