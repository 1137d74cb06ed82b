"""What runs the files of `benchmarks/` and `experiments/`, and reports."""
