"""Verify: many cases, each in several ways, until one differs or all are done."""

from __future__ import annotations

import importlib.util
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from penstock.errors import HostError, NotExecutable
from penstock.model.streams import Stream
from penstock.plan.nodes import Node
from penstock.spark.placement.partitioning import partitioning
from penstock.verification.arrivals import Trouble, arrange, spoil
from penstock.verification.case import Row, VerificationCase, times_of
from penstock.verification.generated import generate
from penstock.verification.judging import Difference, Judge, difference, judged_in_part, not_judged
from penstock.verification.lengths import grids, most_rows
from penstock.verification.run_here import run_here
from penstock.verification.samples import StreamSample, choose, read_sample
from penstock.verification.script import Script
from penstock.verification.shrinking import Shrinking
from penstock.verification.ways import Host, Way, alternatives, ways

#: So many times more rows, where a query has given none.
MORE = 5
#: How often a smaller case is looked for, where a try takes milliseconds, and where it is on Spark.
TRIES, TRIES_ON_SPARK = 600, 12

HOST_ERROR = "HostError"

#: What is done to rows, seed for seed; the first time nothing but that they come in disorder.
_TROUBLE = (
    Trouble(repeated=0, without_value=0, on_an_edge=0, timeless=0),
    Trouble(),
    Trouble(on_the_grid=True),
    Trouble(on_an_edge=0.3),
)

Run = Callable[[Script, VerificationCase, Way, Sequence[str] | None], dict[str, list[Row]]]


@dataclass(frozen=True)
class Found:
    """A difference, at its smallest, and how to have it again."""

    seed: int
    way: Way
    case: VerificationCase
    difference: Difference
    rows_at_first: int
    wanted: int  # of each stream


@dataclass
class Outcome:
    """What was tried, and what came of it."""

    seeds: int = 0
    runs: Counter[Host] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)  # query -> runs
    answers: Counter[str] = field(default_factory=Counter)  # query -> rows of all answers
    most_rows: Counter[str] = field(default_factory=Counter)  # stream -> rows of the largest case
    not_judged: dict[str, str] = field(default_factory=dict)
    in_part: dict[str, str] = field(default_factory=dict)
    not_tried: list[str] = field(default_factory=list)
    found: Found | None = None
    seconds: float = 0.0


class Verification:
    """The queries of one file."""

    def __init__(self, text: str, rows: int = 200) -> None:
        self.script = Script.of(text)
        self.planned = self.script.declared()
        if not self.planned:
            raise NotExecutable(
                "there is no query to verify", hint="CREATE QUERY name AS SELECT … declares one"
            )
        self.outcome = Outcome()
        self._wanted = rows
        self._judge = Judge()
        #: How a case is run on each host.
        self.runs: dict[Host, Run] = {"here": run_here}
        if importlib.util.find_spec("pyspark") is not None:
            from penstock.verification.run_groups import run_groups

            self.runs["groups"] = run_groups
        for each in self.planned:
            reason = not_judged(each.plan)
            if reason is not None:
                self.outcome.not_judged[each.name] = reason
            elif (part := judged_in_part(each.plan)) is not None:
                self.outcome.in_part[each.name] = part
        self.outcome.not_tried += list(self._limits())

    def _limits(self) -> Iterator[str]:
        """What verification leaves out for these queries."""
        for name, stream in self.streams.items():
            clauses = stream.timing.clauses()
            if clauses:
                yield f"{', '.join(clauses)} of {name}: it depends on the clock"
        if not self.takes_late_rows:
            policies = sorted({f"SET late = {each.options.late}" for each in self.planned})
            yield f"late rows: {', '.join(policies)}"
        if "groups" not in self.runs:
            yield "Spark's host: there is no pyspark"

    @cached_property
    def streams(self) -> dict[str, Stream]:
        """Those that queries read, as the file declares them."""
        declared = {statement.stream.name: statement.stream for statement in self.script.streams()}
        read = {name for each in self.planned for name in each.streams}
        return {name: stream for name, stream in declared.items() if name in read}

    @cached_property
    def samples(self) -> dict[str, StreamSample]:
        return {name: read_sample(stream) for name, stream in self.streams.items()}

    @cached_property
    def plans(self) -> list[Node]:
        return [each.plan for each in self.planned]

    @cached_property
    def takes_late_rows(self) -> bool:
        """Whether a late row's fate is defined: rejected, not an error or merged after all."""
        return all(each.options.late in ("keep", "drop") for each in self.planned)

    def _limits_on_spark(self) -> Iterator[str]:
        for each in self.planned:
            if any(stream.stamped for stream in each.streams.values()):
                yield f"{each.name} on Spark itself: its rows are stamped by the machine's clock"
        if any(stream.slack is None for stream in self.streams.values()):
            yield "punctuation from outside on Spark itself"

    def case(self, seed: int) -> VerificationCase:
        """What comes for a seed: the first time as many rows as may be, then any number."""
        chance = random.Random(f"{seed} case")
        share = 1.0 if seed == 0 else chance.uniform(0.4, 1.0)
        counts = {n: int(most**share) for n, most in most_rows(self.plans, self._wanted).items()}
        known = grids(self.plans)
        longest = max((grid.length for grid in known), default=60_000_000)
        span = 3 * longest
        rows = choose(chance, self.streams, self.samples, self._keys, counts, span)
        # Rows that are made begin where those that were read do, so that they meet.
        begin = min(times_of(self.streams, rows), default=None)
        for name, stream in self.streams.items():
            if name not in rows:
                rows[name] = generate(chance, stream, counts[name], self.plans, known, begin)
        trouble = _TROUBLE[seed % len(_TROUBLE)]
        bad = {
            name: spoil(chance, self.streams[name], mine, known, trouble)
            for name, mine in rows.items()
        }
        late = Trouble.late if self.takes_late_rows and seed % 3 else 0.0
        step = chance.choice(known).length if known else 1_000_000
        return arrange(chance, self.streams, bad, late=late, step=step)

    @cached_property
    def _keys(self) -> dict[str, Sequence[str]]:
        """By what rows meet: the keys of the first query that has any, stream for stream."""
        found: dict[str, Sequence[str]] = {}
        for plan in self.plans:
            for name, keys in partitioning(plan).items():
                if keys:
                    found.setdefault(name, keys)
        return found

    def run(self, seeds: Sequence[int]) -> Iterator[str]:
        """Try all seeds in memory, until one differs; says what it is at."""
        began = time.monotonic()
        others = alternatives(self.planned)
        for number, seed in enumerate(seeds, start=1):
            case = self.case(seed)
            chosen = ways(random.Random(f"{seed} ways"), others, seed, self.runs)
            at = f"seed {number} of {len(seeds)}, {case.size} rows"
            yield from self._tried_all(seed, case, chosen, at)
            self.outcome.seconds = time.monotonic() - began
            if self.outcome.found is not None:
                return
            self.outcome.seeds += 1
            self._judge.forget()
        yield from self._with_more_rows(others)
        self.outcome.seconds = time.monotonic() - began

    def _with_more_rows(self, others: Sequence[Mapping[str, str]]) -> Iterator[str]:
        """Where a query has never given a row, little was tried: a larger case may do."""
        answers, told = self.outcome.answers, self.outcome.not_judged
        if all(answers[each.name] or each.name in told for each in self.planned):
            return
        before, self._wanted = self._wanted, MORE * self._wanted
        case = self.case(0)
        chosen = ways(random.Random("more"), others, 0, self.runs)[::3]
        yield from self._tried_all(0, case, chosen, f"more rows, {case.size}")
        if self.outcome.found is None:
            self.outcome.seeds += 1
            self._wanted = before

    def run_on_spark(self, run: Run, seeds: Iterable[int]) -> Iterator[str]:
        """Try seeds on Spark, which takes seconds for each."""
        began, before = time.monotonic(), self.outcome.seconds
        self.runs["spark"] = run
        self.outcome.not_tried += list(self._limits_on_spark())
        for seed in seeds:
            case = self._for_spark(self.case(seed))
            way = Way("spark", {}, seed, restarts=len(case.batches) > 1, faults=True)
            yield from self._tried_all(seed, case, [way], f"seed {seed}, {case.size} rows")
            self.outcome.seconds = before + time.monotonic() - began
            if self.outcome.found is not None:
                return

    def _for_spark(self, case: VerificationCase) -> VerificationCase:
        """At most four batches, for each costs seconds, and no punctuation from outside."""
        batches = [replace(batch, bounds={}) for batch in case.batches]
        while len(batches) > 4:
            batches[:2] = [batches[0].with_next(batches[1])]
        return VerificationCase(tuple(batches))

    def _tried_all(
        self, seed: int, case: VerificationCase, chosen: Iterable[Way], at: str
    ) -> Iterator[str]:
        """One case on several ways, until one differs."""
        for way in chosen:
            yield f"{at}: {way}"
            yield from self.tried(seed, way, case)
            if self.outcome.found is not None:
                return

    def tried(self, seed: int, way: Way, case: VerificationCase) -> Iterator[str]:
        """One case on one way; a difference goes into the outcome, at its smallest."""
        wrong = self.differences(way, case, count=True)
        if wrong and wrong[0].kind == HOST_ERROR:
            wrong = self.differences(way, case, count=True)  # a machine may be busy once
        if not wrong:
            return
        if wrong[0].kind == HOST_ERROR:
            raise HostError(
                f"{way}: {wrong[0].problem.removeprefix(f'{HOST_ERROR}: ')}",
                hint="if the machine is healthy and it happens again, please report it with the "
                "file",
            )
        first = self._culprit(way, case, wrong[0])
        yield f"seed {seed}: `{first.query}` differs with {case.size} rows; looking for fewer …"
        yield from self._shrunk(seed, way, case, first)

    def _culprit(self, way: Way, case: VerificationCase, wrong: Difference) -> Difference:
        """Where a whole run failed, the first query that fails so by itself."""
        if wrong.problem and way.host != "spark":
            for each in self.planned:
                for alone in self.differences(way, case, [each.name]):
                    if alone.kind == wrong.kind:
                        return alone
        return wrong

    def _shrunk(
        self, seed: int, way: Way, case: VerificationCase, first: Difference
    ) -> Iterator[str]:
        latest, only = first, [first.query]

        def fails(way: Way, case: VerificationCase) -> bool:
            """Whether it goes wrong there as it did at first."""
            nonlocal latest
            found = self.differences(way, case, only or None) if way.host in self.runs else []
            for wrong in found:
                if (wrong.query, wrong.kind) == (first.query, first.kind):
                    latest = wrong
                    return True
            return False

        if not fails(way, case):
            only.clear()  # it takes the other queries as well
        if way.host == "spark":  # without it, tries are cheap
            in_memory = (other for other in way.simpler() if other.host != "spark")
            way = next((other for other in in_memory if fails(other, case)), way)
        tries = TRIES_ON_SPARK if way.host == "spark" else TRIES
        smallest = Shrinking(fails, self.streams, tries).smallest(way, case)
        fails(*smallest)  # what was tried last need not be what was kept
        self.outcome.found = Found(seed, *smallest, latest, case.size, self._wanted)
        yield f"seed {seed}: {smallest[1].size} rows are enough"

    def differences(
        self,
        way: Way,
        case: VerificationCase,
        queries: Sequence[str] | None = None,
        *,
        count: bool = False,
    ) -> list[Difference]:
        """What goes wrong on one way."""
        try:
            planned = self.script.declared(way.settings, queries)
            answers = self.runs[way.host](self.script, case, way, queries)
        except HostError as error:
            # The machine failed, or we did: Spark does not tell. A smaller case would not either.
            return [Difference((queries or [""])[0], problem=f"{HOST_ERROR}: {error}")]
        except Exception as error:  # whatever it is, a query must not end by it
            name = (queries or [self.planned[0].name])[0]
            return [Difference(name, problem=f"{type(error).__name__}: {error}")]
        found = []
        if count and answers:
            self._count(way, case)
        for each in planned:
            if each.name in self.outcome.not_judged or each.name not in answers:
                continue
            expected = self._judge.expected(each, case, way.host)
            if count:
                self.outcome.compared[each.name] += 1
                self.outcome.answers[each.name] += len(expected)
            wrong = difference(each, expected, answers[each.name])
            if wrong is not None:
                found.append(wrong)
        return found

    def _count(self, way: Way, case: VerificationCase) -> None:
        self.outcome.runs[way.host] += 1
        for name in self.streams:
            rows = len(case.rows_of(name))
            self.outcome.most_rows[name] = max(self.outcome.most_rows[name], rows)
