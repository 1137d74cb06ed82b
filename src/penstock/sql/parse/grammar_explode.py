"""Arrays and maps in FROM, a row for each element.

    FROM s LATERAL VIEW [OUTER] explode(s.items) t AS item          Spark, Hive
    FROM s CROSS JOIN UNNEST(s.items) [WITH ORDINALITY] AS t(item)  the standard
    FROM s LEFT JOIN UNNEST(s.items) AS t(item) ON TRUE             rows without elements stay
    FROM s, LATERAL explode(s.items) AS t(item)                     Spark; also [LEFT] JOIN LATERAL

Several may follow each other, and joins may follow them.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.model.joins import JoinKind
from penstock.model.schema import suggest
from penstock.sql.parse.grammar_sequence import SequenceParser
from penstock.sql.parse.positions import cover
from penstock.sql.parse.syntax import ExplodeClause

UNNEST = "UNNEST"
#: Functions that give rows, in Spark's names.
GENERATORS = (
    *("explode", "explode_outer", "posexplode", "posexplode_outer"),
    *("inline", "inline_outer"),
)


class ExplodeParser(SequenceParser):
    """Reads LATERAL VIEW, LATERAL and UNNEST."""

    def _parse_lateral(self) -> exp.Lateral | None:
        return None  # read among the joins, where it stands

    def at_name(self) -> bool:
        """Whether a name follows that AS need not stand before."""
        raise NotImplementedError

    def _at_lateral_view(self) -> bool:
        is_lateral = self._curr.token_type == TokenType.LATERAL
        return is_lateral and self._next.token_type == TokenType.VIEW

    def _at_exploding(self) -> bool:
        """Whether LATERAL or UNNEST( follows."""
        is_call = self._next is not None and self._next.token_type == TokenType.L_PAREN
        is_unnest = self._curr.token_type == TokenType.UNNEST and is_call
        return is_unnest or self._curr.token_type == TokenType.LATERAL

    def lateral_view(self) -> ExplodeClause:
        """`LATERAL VIEW [OUTER] explode(…) t AS a, b`."""
        start = self._curr
        self._advance(2)
        outer = self._match(TokenType.OUTER)
        clause = self._generator(outer=outer)
        if self.at_name():
            clause.set("alias", self._name("a name"))
        if self._match(TokenType.ALIAS):
            clause.set("columns", self._names())
        cover(clause, self.span_since(start))
        return clause

    def exploding_join(self, kind: JoinKind, start: Token) -> ExplodeClause:
        """`UNNEST(…) … AS t(a, b)`, or `LATERAL explode(…) AS t(a, b)`, behind a comma or JOIN."""
        if kind not in (JoinKind.INNER, JoinKind.LEFT):
            self.refuse(
                f"{kind.value.upper()} JOIN with elements of an array is not part of this dialect",
                self.span_since(start),
                hint="write CROSS JOIN UNNEST(…), or LEFT JOIN UNNEST(…) ON TRUE; whether an array "
                "has an element says array_contains(…, …)",
            )
        self._match(TokenType.LATERAL)
        if self._match(TokenType.L_PAREN, advance=False):
            self.refuse(
                "a subquery behind LATERAL is not part of this dialect",
                hint="LATERAL explode(…) gives the elements of an array; subqueries are joined as "
                "they are",
            )
        clause = self._generator(outer=kind is JoinKind.LEFT)
        if self._match_pair(TokenType.WITH, TokenType.ORDINALITY):
            if clause.name != UNNEST:
                self.refuse("WITH ORDINALITY belongs to UNNEST", hint="write posexplode(…)")
            clause.set("ordinality", True)
        if self._match(TokenType.ALIAS) or self.at_name():
            clause.set("alias", self._name("a name"))
            if self._match(TokenType.L_PAREN):
                clause.set("columns", self._names())
                self._close()
        self._on(clause, kind)
        cover(clause, self.span_since(start))
        return clause

    def _generator(self, *, outer: bool) -> ExplodeClause:
        function = self._curr
        name = function.text.lower()
        if name not in (UNNEST.lower(), *GENERATORS):
            known = [UNNEST, *GENERATORS]
            self.refuse(f"`{function.text}` gives no rows", hint=suggest(name, known))
        self._advance()
        if not self._match(TokenType.L_PAREN):
            self.refuse(f"expected `(` after {function.text}, not {self.found()}")
        values = self._parse_csv(self._parse_disjunction)
        self._close()
        if len(values) != 1:
            self.refuse(
                f"{function.text} takes one array or map",
                self.span_since(function),
                hint="write one LATERAL VIEW or UNNEST after the other: it gives all combinations",
            )
        spelled = UNNEST if name == UNNEST.lower() else name.removesuffix("_outer")
        return ExplodeClause(
            this=spelled, value=values[0], outer=bool(outer) or name.endswith("_outer")
        )

    def _on(self, clause: ExplodeClause, kind: JoinKind) -> None:
        """The condition of a join; of one that keeps rows without elements only TRUE."""
        if self._match(TokenType.ON):
            start = self._curr
            condition = self._parse_disjunction()
            is_true = isinstance(condition, exp.Boolean) and bool(condition.this)
            if condition is None or (kind is JoinKind.LEFT and not is_true):
                self.refuse(
                    "a LEFT JOIN with the elements of an array has no other condition than TRUE",
                    self.span_since(start),
                    hint="write ON TRUE, and in WHERE what must hold of an element, or that it IS "
                    "NULL",
                )
            clause.set("on", None if is_true else condition)
        elif kind is JoinKind.LEFT:
            self.refuse(
                f"expected ON TRUE, not {self.found()}",
                hint="write LEFT JOIN UNNEST(…) AS t(c) ON TRUE",
            )
        if self._match_text_seq("WITHIN", advance=False):
            self.refuse(
                "WITHIN is not allowed here: the elements of an array have the time of their row"
            )

    def _name(self, what: str) -> exp.Identifier:
        token = self._curr
        return exp.Identifier(this=self.word(what), quoted=True).update_positions(token)

    def _names(self) -> list[exp.Identifier]:
        found = [self._name("a column")]
        while (
            self._match(TokenType.COMMA, advance=False)
            and self._next.token_type != TokenType.LATERAL
        ):
            self._advance()
            found.append(self._name("a column"))
        return found
