"""MATCH_RECOGNIZE at random: patterns, conditions, measures, skips, WITHIN."""

from __future__ import annotations

from tests.engine.draw import Draw, several

VARIABLES = ("A", "B", "C", "D")
QUANTIFIERS = ("", "", "", "", "?", "*", "+", "{2}", "{1,}", "{1,3}", "{,2}")
#: Conditions of one row and those before it; {} is the variable.
OF_ROWS = (
    "{}.v > 0",
    "{}.v <= 2",
    "v < 4",
    "{}.v > PREV({}.v)",
    "{}.v <= PREV({}.v, 1)",
    "v <> PREV(v, 2) OR PREV(v, 2) IS NULL",
    "{}.v IS NOT NULL AND d < 5",
    "coalesce(PREV({}.d), 0) < d + 1",
    "{}.v % 2 = 0",
)
#: Conditions that depend on the match; the second {} is another variable.
OF_MATCHES = (
    "{}.v > {other}.v",
    "{}.v >= LAST({}.v, 1) OR LAST({}.v, 1) IS NULL",
    "{}.d < FIRST(d) + 3",
    "coalesce({other}.v, 0) < {}.v",
    "count({}.*) < 3",
    "sum({}.v) < 6",
    "avg({}.v) < 3.5 AND {}.v > -8",
    "{}.v > min({other}.v) OR max({}.d) IS NULL",
    "count(*) <= 4 AND {}.v > PREV({}.v)",
    "{}.v > PREV({other}.v, 1)",
    "{}.ts >= FIRST({other}.ts) OR {other}.ts IS NULL",
    "abs({}.v - FIRST({}.v)) <= 4",
    "sum(v) / count(*) < {}.d",
)
MEASURES = (
    "FIRST({}.v)",
    "LAST({}.v)",
    "{}.d",
    "LAST({}.v, 1)",
    "FIRST(v, 1)",
    "PREV({}.v)",
    "PREV(LAST({}.d, 1), 2)",
    "PREV(v, 3)",
    "count({}.*)",
    "count({}.v)",
    "sum({}.v)",
    "avg({}.d)",
    "min(v)",
    "max({}.k)",
    "stddev({}.v)",
    "collect_list({}.v)",
    "count(*)",
    "CLASSIFIER()",
    "LAST({}.v) - FIRST(v)",
    "coalesce({}.v, -1)",
    "LAST({}.v * 2 + 1)",
    "MATCH_ROWTIME()",
    "{}.ts",
    "count(DISTINCT {}.v)",
    "sum({}.v) FILTER (WHERE {}.v > 0)",
    "sum({}.v * {}.d)",
)
#: Measures that progress, where they are never NULL.
TIMES = ("FIRST(ts)", "LAST(ts)", "MATCH_ROWTIME()", "FIRST(A.ts)")


def patterns(draw: Draw, depth: int = 2) -> str:
    """A pattern, perhaps one that can match no rows."""
    shape = draw.choose(["one", "sequence", "sequence", "choice"] if depth else ["one"])
    if shape == "one":
        return draw.choose(VARIABLES) + quantifiers(draw)
    parts = several(draw, 2, 3, lambda draw: patterns(draw, depth - 1))
    inner = (" " if shape == "sequence" else " | ").join(parts)
    return inner if depth == 2 and shape == "sequence" else f"({inner})" + quantifiers(draw)


def quantifiers(draw: Draw) -> str:
    found = draw.choose(QUANTIFIERS)
    return found + draw.choose(["", "", "", "?"]) if found else ""


def conditions(draw: Draw, kinds: tuple[str, ...]) -> list[str]:
    """Conditions of some of the variables."""
    found = []
    for name in VARIABLES:
        if draw.choose([True, True, True, False]):
            other = draw.choose([v for v in VARIABLES if v != name])
            found.append(f"{name} AS " + draw.choose(kinds).format(*[name] * 3, other=other))
    return found


def match_clauses(
    draw: Draw, unit: str, *, kinds: tuple[str, ...] | None = None, times: bool = False
) -> str:
    """What stands in the parentheses of MATCH_RECOGNIZE."""
    if kinds is None:
        kinds = draw.choose([OF_ROWS, OF_ROWS, OF_MATCHES, (*OF_ROWS, *OF_MATCHES)])
    # All of them are mentioned, so that conditions and measures can name any.
    pattern = f"{patterns(draw)} {draw.choose(['A', 'B', 'C+', 'D'])}"
    pattern = draw.choose(
        [f"A {pattern}", pattern, f"{pattern} B*?", f"({pattern}) | A B", f"A B | {pattern}"]
    )
    if {*VARIABLES} - {*pattern}:
        pattern = f"({pattern}) | ({' '.join(VARIABLES)})"
    within = draw.choose(["", f" WITHIN {draw.between(0, 12)}{unit}"])
    partition = draw.choose(["PARTITION BY k ", "PARTITION BY k ", "", "PARTITION BY k, v "])
    order = draw.choose(["ts", "ts", "ts, v", "ts, v DESC, d", "ts, d DESC"])
    named = several(draw, 1, 4, lambda draw: draw.choose(MEASURES).format(*["A"] * 2))
    named = [each.replace("A.", f"{draw.choose(VARIABLES)}.") for each in named]
    if times:
        named = [draw.choose(TIMES[:3]), *named]
    measures = ", ".join(f"{each} AS m{number}" for number, each in enumerate(named))
    skip = draw.choose(
        ["", "PAST LAST ROW", "TO NEXT ROW", "TO FIRST B", "TO LAST C", "TO LAST A", "TO D"]
    )
    after = f"AFTER MATCH SKIP {skip} " if skip else ""
    defined = conditions(draw, kinds)
    define = f" DEFINE {', '.join(defined)}" if defined else ""
    return (
        f"{partition}ORDER BY {order} MEASURES {measures} ONE ROW PER MATCH {after}"
        f"PATTERN ({pattern}){within}{define}"
    )


def match_queries(draw: Draw, unit: str) -> str:
    """A query over matches."""
    source = draw.choose(["a", "a", "(SELECT * FROM a WHERE v > -7)", "a UNION b"])
    return f"SELECT * FROM {source} MATCH_RECOGNIZE ({match_clauses(draw, unit)}) AS m"


def timed_match_queries(draw: Draw, unit: str) -> str:
    """A query in which something waits for the times of matches."""
    source = f"a MATCH_RECOGNIZE ({match_clauses(draw, unit, times=True)}) AS m"
    if draw.choose([True, False]):
        return f"SELECT m0, m1 FROM {source} ORDER BY m0"
    return f"SELECT count(*) [RANGE 10{unit}, SLIDE 5{unit}, WA m0] AS n FROM {source}"
