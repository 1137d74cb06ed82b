"""What the cost model says of plans of joins, and what they take on our operators.

Not published: our own claim that the model can be relied upon. Chains of three and four streams
joined by keys, in several shapes and at several rates. State is compared in rows. Processor time is
compared by what the machine takes for the samples of `./penstock calibrate`, measured beside it.
Spec: dynamic-optimization 2.3.
"""

from __future__ import annotations

from statistics import median

from _join_plans import JoinSet, _rows, run_plan

from penstock.lab.experimenting import Check, Outcome, Table
from penstock.optimizer.cost.costs import JOIN, REFERENCE, Costs
from penstock.optimizer.cost.joins import JoinUnits, tree_cost
from penstock.optimizer.join_figures import join_figures
from penstock.optimizer.joins.choose_tree import ordered_tree
from penstock.optimizer.joins.graph_of import graph_of
from penstock.optimizer.joins.named_tree import named_tree, numbered
from penstock.optimizer.measured_joins import joins_of
from penstock.runtime.calibrate import JOINS, _seconds_of_join

ALIAS = "E0"

THREE = ("((a, b), c)", "(a, (b, c))", "(a, b, c)")
FOUR = ("((a, b), (c, d))", "(((a, b), c), d)", "((a, b), c, d)", "(a, b, c, d)")
CASES = (
    (JoinSet((4000, 4000, 4000), (0.001, 0.002), 2, 8, equal=True), THREE),
    (JoinSet((2000, 8000, 4000), (0.0005, 0.001), 2, 8, equal=True), THREE),
    (JoinSet((2000, 2000, 2000, 2000), (0.001, 0.002, 0.001), 2, 8, equal=True), FOUR),
)


#: What was measured over all cases.
STATE = "8 of 10 plans are within 6 %, and one of four inputs is 18 % off; why is not known yet"
TIME = "plans of four inputs took up to 40 % more than predicted; why is not known yet"


def run(quick: bool, seed: int) -> Outcome:
    units = JoinUnits.of(measured_units())
    rows = []
    for of, plans in CASES[: 1 if quick else None]:
        known = of.known()
        [join] = joins_of([of.plan])
        graph, data = graph_of(join, join_figures(join, known)), _rows(of, seed)
        for plan in plans:
            tree = ordered_tree(numbered(named_tree(plan), join), join, known)
            cost = tree_cost(graph, tree, units)
            busy, stored = run_plan(of, plan, data).steady(of.window + 1)
            rows.append((plan, sum(of.rates), cost.rows, stored, 1e3 * cost.processor, 1e3 * busy))
    state = max(abs(predicted / stored - 1) for _, _, predicted, stored, _, _ in rows)
    time = max(abs(predicted / busy - 1) for *_, predicted, busy in rows)
    columns = ("plan", "rows/s", "rows predicted", "rows stored", "ms/s predicted", "ms/s")
    return Outcome(
        tables=(Table("plans", columns, tuple(rows)),),
        checks=(
            Check(
                "state is within 15 % of the model",
                state < 0.15,
                f"at most {state:.0%} off",
                None if quick else STATE,
            ),
            Check(
                "processor time is within 30 %",
                time < 0.3,
                f"at most {time:.0%} off",
                None if quick else TIME,
            ),
        ),
    )


def measured_units() -> Costs:
    """What joins cost on this machine, now."""
    speeds = [_seconds_of_join(each) * 1e6 / REFERENCE.of(JOIN, each.work) for each in JOINS]
    scaled = [median(speeds) * cost for cost in REFERENCE.units[JOIN]]
    return Costs({**REFERENCE.units, JOIN: scaled}, "measured just now")
