"""MatchRecognize: one operator, which searches by an automaton or, if it must, row by row."""

from __future__ import annotations

from penstock.kernel.matching.automaton import Automaton
from penstock.kernel.matching.conditions import rows_looked_back
from penstock.model.match import MatchDefinition
from penstock.model.types import Type
from penstock.optimizer.physical import Chosen
from penstock.optimizer.specs import MatchRecognizeSpec
from penstock.plan import nodes
from penstock.plan.nodes.match import length_text


def lower_match_recognize(node: nodes.MatchRecognize) -> Chosen:
    match = node.match
    if match.dependent:
        how = (
            f"conditions of {', '.join(match.dependent)} depend on the match: tried row by row, "
            f"at most {match.most_rows:,} rows of a match (match_rows)"
        )
    else:
        how = "conditions look at single rows: an automaton takes many rows at once"
    on = node.input.schema[match.on].type
    return Chosen((MatchRecognizeSpec(match),), f"{how}; {_kept(match, on)}")


def _kept(match: MatchDefinition, on: Type) -> str:
    """What is kept, and for how long."""
    back = rows_looked_back(match, Automaton(match.pattern))
    looked = f", and the last {back} of each partition for PREV" if back else ""
    if match.within is None:
        return f"rows of matches that have begun are kept until they end{looked}"
    within = length_text(match.within, on)
    return f"rows of matches that have begun are kept for {within} at most{looked}"
