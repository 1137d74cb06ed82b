"""Experiments: published results repeated, each with a statement that can fail.

An experiment is a file in `experiments/`. Its docstring says what is measured and what the
publication found; its function `run` gives tables, plots and checks:

    from penstock.experimenting import Check, Outcome, Plot, Table

    def run(quick: bool) -> Outcome:
        lines = {"ours": [(1, 2.0), (2, 4.1)]}
        return Outcome(
            tables=(Table("latency", ("bursts", "ms"), ((1, 2.0), (2, 4.1))),),
            plots=(Plot("latency", "size of a burst", "ms", lines),),
            checks=(Check("latency doubles", 4.1 > 1.9 * 2.0, "4.1 ms against 2.0 ms"),),
        )

A result is *reproduced* when every check holds. `./penstock experiment NAME…` runs them.
"""

from penstock.experimenting.outcome import Check, Outcome, Plot, Table

__all__ = ["Check", "Outcome", "Plot", "Table"]
