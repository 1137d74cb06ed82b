"""What is declared: streams, tables, views, queries, settings. It knows plans, and no SQL."""
