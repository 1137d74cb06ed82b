"""Experiments: published results repeated, each with statements that can fail.

An experiment is a file in `experiments/`. Its docstring says what is measured and what the
publication found; its function `run` gives tables, plots and checks. `quick` asks for less data,
and whatever is drawn at random is drawn from `seed`:

    from penstock.lab.experimenting import Check, Outcome, Plot, Table

    def run(quick: bool, seed: int) -> Outcome:
        lines = {"ours": [(1, 2.0), (2, 4.1)]}
        return Outcome(
            tables=(Table("latency", ("bursts", "ms"), ((1, 2.0), (2, 4.1))),),
            plots=(Plot("latency", "size of a burst", "ms", lines),),
            checks=(
                Check("latency doubles", 4.1 > 1.9 * 2.0, "4.1 ms against 2.0 ms"),
                Check("it stays below 3 ms", 4.1 < 3, "4.1 ms", known="a row costs us 2 ms"),
            ),
        )

A check states what was published, with the published figures and parameters. Where ours is known to
differ the claim stays, as a known failure with the reason (`known`); it may hold one day, and that
is then reported as an error, for somebody has to take the reason out. A result is *reproduced* when
every check holds, and *as expected* when only known failures fail. `./penstock experiment NAME…`
runs them.
"""

from penstock.lab.experimenting.outcome import Check, Outcome, Plot, Table, Verdict

__all__ = ["Check", "Outcome", "Plot", "Table", "Verdict"]
