"""The logical query graph: what is asked, not how it is computed. Nothing here runs."""
