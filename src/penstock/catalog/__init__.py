"""What is declared: streams, tables, views, queries, settings."""
