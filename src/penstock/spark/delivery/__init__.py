"""Results, rejected and late rows, and counts: from the groups to where they go."""
