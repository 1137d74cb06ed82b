"""Side-by-side measurements: ours and a rival, on the same data, in one run, with equal answers.

A benchmark is a file in `benchmarks/`. Its docstring says what it compares; its function
`cases` gives the comparisons:

    from penstock.lab.benchmarking import Case

    ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}        # optional: set before anything is imported

    def cases(quick: bool) -> Iterator[Case]:
        data = make_data(10_000 if quick else 10_000_000)
        yield Case(
            "sum",
            ours=lambda: …,
            rival=lambda: …,
            rival_name="polars",
            ours_io="a table in memory",      # where rows come from → where results go
            rival_io="a table in memory",
        )

Cases are taken one after the other, so a generator holds the data of one case at a time.
A file whose name begins with `_` is not a benchmark; benchmarks can import it by its name.
"""

from penstock.lab.benchmarking.answers import difference
from penstock.lab.benchmarking.case import Case, Timed

__all__ = ["Case", "Timed", "difference"]
