"""Which rows and queries are computed together, and where."""
