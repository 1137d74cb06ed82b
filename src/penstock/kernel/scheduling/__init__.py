"""Which operator runs next: a table of rules that is rewritten while the graph runs."""
