"""AdaptWID: each group as partials or as rows, whichever is smaller."""
