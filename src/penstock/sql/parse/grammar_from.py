"""What stands in FROM: streams, unions of streams, subqueries, table functions, joins.

    FROM packets [RANGE 10 MINUTES] AS p
    FROM Control UNION Main1 UNION Main2                 ∪ is the same sign; duplicates are kept
    FROM A UNION B AS M1, C UNION D AS M2 [RANGE TUMBLING 10 SECONDS]
    FROM TUMBLE(TABLE packets, DESCRIPTOR(ts), INTERVAL '10' MINUTE)
    FROM a JOIN b ON a.k = b.k WITHIN 5 SECONDS
    FROM packets LATERAL VIEW explode(hops) t AS hop     see grammar_explode
    FROM packets MATCH_RECOGNIZE (…) AS m                matches of a pattern: `grammar_match.py`
    FROM SEQ(a, b) MODE RECENT WITHIN 5 SECONDS          see grammar_sequence
    FROM packets ORDERED                                 ORDER BY the one column that it can be

A name and a window belong to the whole union before them. UNION followed by SELECT, bare or in
parentheses, is the union of queries instead, as in any SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.model.joins import JoinKind
from penstock.model.schema import suggest
from penstock.sql.parse.grammar_explode import GENERATORS, ExplodeParser
from penstock.sql.parse.grammar_sequence import SEQUENCE
from penstock.sql.parse.positions import cover
from penstock.sql.parse.syntax import (
    AnyLength,
    Attribute,
    ExplodeClause,
    Relation,
    Span,
    StreamJoin,
    StreamUnion,
    WindowClause,
    WindowFunction,
)

_QUERY_STARTS = {TokenType.SELECT, TokenType.WITH}

_EARLY = (("EMIT", "EVERY"), ("EMIT", "CHANGES"))

#: Table function -> its arguments in order; those behind the star may be left out.
WINDOW_FUNCTIONS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "*OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "*OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "*OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}

_JOIN_KINDS = {
    **dict.fromkeys(("", "INNER", "CROSS"), JoinKind.INNER),
    **dict.fromkeys(("LEFT", "LEFT OUTER"), JoinKind.LEFT),
    **dict.fromkeys(("RIGHT", "RIGHT OUTER"), JoinKind.RIGHT),
    **dict.fromkeys(("FULL", "FULL OUTER"), JoinKind.FULL),
    **dict.fromkeys(("SEMI", "LEFT SEMI"), JoinKind.SEMI),
    **dict.fromkeys(("ANTI", "LEFT ANTI"), JoinKind.ANTI),
}


def _noted(read: Callable[[Any], tuple[str, Any]]) -> Callable[[Any], tuple[str, Any]]:
    """A reader of a clause that also notes where the clause stands."""

    def read_and_note(parser: FromParser) -> tuple[str, Any]:
        start = parser._curr
        key, node = read(parser)
        if isinstance(node, exp.Expr):
            cover(node, parser.span_since(start))
        return key, node

    return read_and_note


class FromParser(ExplodeParser):
    """Reads FROM; sqlglot reads the rest of the SELECT around it."""

    QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Any]] = {
        token: _noted(read) for token, read in ExplodeParser.QUERY_MODIFIER_PARSERS.items()
    }

    def _parse_table(self, *others: Any, joins: bool = False, **more: Any) -> exp.Expr | None:
        if joins:
            self.refuse("a query begins with SELECT", self._prev)
        return self.relation()

    def _parse_hint(self) -> exp.Hint | None:
        if self._match(TokenType.HINT):
            self.refuse("hints are not part of this dialect", self._prev, hint="leave it out")
        return None

    def _parse_into(self) -> exp.Into | None:
        if self._match(TokenType.INTO, advance=False):
            self.refuse(
                "SELECT cannot say where results go",
                hint="write CREATE QUERY name INTO parquet 'path' AS SELECT …",
            )
        return None

    def _parse_query_modifiers(self, this: Any) -> Any:
        """Also ORDERED, behind everything else: ORDER BY without a column."""
        found = super()._parse_query_modifiers(this)
        start = self._curr
        if isinstance(found, exp.Query) and self._match_text_seq("ORDERED"):
            if found.args.get("order"):
                self.refuse("ORDER BY says it already", self._prev, hint="leave out ORDERED")
            found.set("order", exp.Order(expressions=[]))
            cover(found.args["order"], self.span_since(start))
        return found

    def relation(self, nested: bool = False) -> Relation:
        """One input of FROM; `nested`: directly in parentheses."""
        start = self._curr
        parts = [self._relation_part(nested)]
        keep_all = True
        while self._at_stream_union(nested):
            self._advance()
            keep_all &= self._match(TokenType.ALL)
            if self._match(TokenType.DISTINCT):
                self.refuse(
                    "a union of streams keeps duplicates", self._prev, hint="leave DISTINCT out"
                )
            parts.append(self._relation_part(nested))
        relation = Relation(this=_united(parts, keep_all))
        self._name_and_window(relation)
        cover(relation, self.span_since(start))
        while self._at_match() and self._match_text_seq("MATCH_RECOGNIZE"):
            relation = Relation(this=self.match_recognize(relation))
            self._name_and_window(relation)
            cover(relation, self.span_since(start))
        if self._at_stream_union(nested):
            self.refuse(
                "a name or a window is not allowed inside a union",
                self.span_since(start),
                hint="put it after the whole union, or this part in parentheses",
            )
        return relation

    def _at_stream_union(self, nested: bool) -> bool:
        """Whether UNION follows and what comes after it is no query of its own."""
        if self._curr.token_type != TokenType.UNION:
            return False
        if nested:
            return True
        skipped = (TokenType.ALL, TokenType.DISTINCT, TokenType.L_PAREN)
        for token in self._tokens[self._index + 1 :]:
            if token.token_type not in skipped:
                return token.token_type not in _QUERY_STARTS
        return True

    def _relation_part(self, nested: bool) -> exp.Expr:
        start = self._curr
        if self._match(TokenType.L_PAREN):
            return self._parenthesised(start)
        if nested and start.token_type in _QUERY_STARTS:
            return exp.Subquery(this=self._parse_select(parse_set_operation=False))
        if self._match(TokenType.TABLE):
            if not self._match(TokenType.L_PAREN):
                self.refuse(f"expected `(` after TABLE, not {self.found()}")
            function = self._window_function()
            self._close()
            return function
        if self._next.token_type == TokenType.L_PAREN and start.token_type in self.ID_VAR_TOKENS:
            is_sequence = start.text.upper() == SEQUENCE
            return self.sequence() if is_sequence else self._window_function()
        name = self.word("a stream")
        if self._match(TokenType.DOT, advance=False):
            self.refuse(
                f"`{name}` is followed by a dot", start, hint="streams have plain names here"
            )
        return exp.Table(this=exp.Identifier(this=name, quoted=True).update_positions(start))

    def _parenthesised(self, start: Token) -> exp.Expr:
        """A subquery, or a relation in parentheses."""
        if self._curr.token_type in _QUERY_STARTS:
            node: exp.Expr = exp.Subquery(this=self._parse_ddl_select())
        else:
            node = self.relation(nested=True)
            if self._parse_join() is not None:
                self.refuse(
                    "a join is not allowed in parentheses",
                    self.span_since(start),
                    hint="leave the parentheses out: joins are taken from left to right",
                )
        self._close()
        cover(node, self.span_since(start))
        return node

    def _name_and_window(self, relation: Relation) -> None:
        """`[window] [AS] name [window]`, all optional."""
        clause: WindowClause | None = None
        relation.set("as_of", self._as_of())
        if self._match(TokenType.L_BRACKET, advance=False):
            clause = self.window_clause()
        relation.set("alias", self._relation_name())
        relation.set("as_of", relation.args.get("as_of") or self._as_of())
        if self._match(TokenType.L_BRACKET, advance=False):
            if clause is not None:
                self.refuse("a second window for the same input")
            clause = self.window_clause()
        relation.set("clause", clause)

    def _as_of(self) -> Span | None:
        """`FOR SYSTEM_TIME AS OF time`, which is read to say what to write instead."""
        start = self._curr
        if not self._match_text_seq("FOR", "SYSTEM_TIME", "AS", "OF"):
            return None
        self._parse_bitwise()
        return self.span_since(start)

    def _at_emit(self) -> bool:
        """Whether EMIT follows, and not an input that is called so."""
        words = tuple(token.text.upper() for token in self._tokens[self._index : self._index + 3])
        return words[:2] in _EARLY or words == ("EMIT", "ON", "WINDOW")

    def _at_match(self) -> bool:
        """Whether MATCH_RECOGNIZE ( follows, and not an input that is called so."""
        is_open = self._next is not None and self._next.token_type == TokenType.L_PAREN
        return self._curr.text.upper() == "MATCH_RECOGNIZE" and is_open

    def at_name(self) -> bool:
        """Whether a name follows that AS need not stand before."""
        token = self._curr
        return not (
            self._can_parse_limit_or_offset()
            or token.token_type not in self.TABLE_ALIAS_TOKENS | {TokenType.IDENTIFIER}
            or token.text.upper() in ("WITHIN", "ORDERED")
            or self._at_emit()
            or self._at_match()
        )

    def _relation_name(self) -> exp.Identifier | None:
        explicit = self._match(TokenType.ALIAS)
        token = self._curr
        if not explicit and not self.at_name():
            return None
        if token.token_type in (TokenType.PIVOT, TokenType.UNPIVOT):
            self.refuse(f"{token.text.upper()} is not part of this dialect")
        name = self.word("a name")
        if self._match(TokenType.L_PAREN, advance=False):
            self.refuse(
                f"`{name}` cannot rename columns",
                token,
                hint=f"name them inside: (SELECT a AS x, …) AS {name}",
            )
        return exp.Identifier(this=name, quoted=True).update_positions(token)

    def _window_function(self) -> exp.Expr:
        """`TUMBLE(TABLE s, DESCRIPTOR(ts), …)`, positional or with `NAME =>`."""
        start = self._curr
        function = start.text.upper()
        if function.lower() in GENERATORS or function == "UNNEST":
            self.refuse(
                f"{start.text} gives the elements of what a stream has, and no stream is named",
                start,
                hint="write FROM stream CROSS JOIN UNNEST(…) AS t(…)",
            )
        if function not in WINDOW_FUNCTIONS:
            self.refuse(
                f"no table function `{start.text}`",
                start,
                hint=suggest(function, [*WINDOW_FUNCTIONS, SEQUENCE]),
            )
        self._advance()
        if not self._match(TokenType.L_PAREN):
            self.refuse(f"expected `(` after {function}, not {self.found()}")
        parameters = [name.lstrip("*") for name in WINDOW_FUNCTIONS[function]]
        given: dict[str, Any] = {}
        while True:
            place = self._curr
            if self._next.token_type == TokenType.FARROW:
                name = place.text.upper()
                self._advance(2)
            else:
                name = parameters[len(given)] if len(given) < len(parameters) else ""
            if name not in parameters or name in given:
                self.refuse(
                    f"{function} cannot take this argument", place, hint=_signature(function)
                )
            given[name] = self._function_argument(function, name)
            if not self._match(TokenType.COMMA):
                break
        self._close()
        for name in WINDOW_FUNCTIONS[function]:
            if not name.startswith("*") and name not in given:
                self.refuse(
                    f"{function} needs {name}", self.span_since(start), hint=_signature(function)
                )
        data, timecol = given.pop("DATA"), given.pop("TIMECOL")
        node = WindowFunction(this=function, data=data, timecol=timecol, lengths=given)
        cover(node, self.span_since(start))
        return node

    def _function_argument(self, function: str, name: str) -> Relation | Attribute | AnyLength:
        if name == "DATA":
            start = self._curr
            if not self._match(TokenType.TABLE) and start.token_type != TokenType.L_PAREN:
                self.refuse(
                    f"{function} needs TABLE and a stream, not {self.found()}",
                    hint=_signature(function),
                )
            relation = Relation(this=self._relation_part(nested=False))
            if function == "SESSION" and self._match(TokenType.PARTITION_BY):
                relation.set("partition", self._partition())
            cover(relation, self.span_since(start))
            return relation
        if name == "TIMECOL":
            if not self._match_text_seq("DESCRIPTOR", "("):
                self.refuse(
                    f"{function} needs DESCRIPTOR(column), not {self.found()}",
                    hint=_signature(function),
                )
            attribute = self._attribute()
            self._close()
            return attribute
        return self.length()

    def _partition(self) -> tuple[Attribute, ...]:
        """A column, or several in parentheses: behind a comma the next argument begins."""
        is_list = self._match(TokenType.L_PAREN, advance=False)
        return self._attributes() if is_list else (self._attribute(),)

    def _parse_join(self, *others: Any, **more: Any) -> StreamJoin | ExplodeClause | None:
        start = self._curr
        if self._at_lateral_view():
            return self.lateral_view()
        index = self._index
        kind, asof = JoinKind.INNER, None
        is_comma = self._match(TokenType.COMMA)
        if not is_comma:
            words = [token.text.upper() for token in self._parse_join_parts() if token]
            if not self._match(TokenType.JOIN):
                self._retreat(index)
                return None
            spelled = " ".join(word for word in words if word != "ASOF")
            if spelled not in _JOIN_KINDS:
                self.refuse(
                    f"{' '.join(words)} JOIN is not part of this dialect",
                    self.span_since(start),
                    hint="there are: [INNER], LEFT, RIGHT, FULL, SEMI and ANTI JOIN … ON …",
                )
            kind = _JOIN_KINDS[spelled]
            asof = self.span_since(start) if "ASOF" in words else None
        if self._at_exploding():
            return self.exploding_join(kind, start)
        join = StreamJoin(this=self.relation(), kind=kind, asof=asof, within=self._within())
        if not is_comma and self._match(TokenType.ON):
            condition = self._parse_disjunction()
            if condition is None:
                self.refuse(f"expected a condition after ON, not {self.found()}")
            join.set("on", condition)
        elif self._match(TokenType.USING, advance=False):
            self.refuse("USING is not part of this dialect", hint="write ON a.k = b.k")
        if join.args["within"] is None:
            join.set("within", self._within())
        cover(join, self.span_since(start))
        return join

    def _within(self) -> AnyLength | None:
        return self.length() if self._match_text_seq("WITHIN") else None


def _united(parts: list[exp.Expr], keep_all: bool) -> exp.Expr:
    """One part as it is; queries as a union of queries, where plain UNION means DISTINCT."""
    if len(parts) == 1:
        return parts[0]
    if not all(isinstance(part, exp.Subquery) for part in parts):
        return StreamUnion(expressions=parts)
    united = parts[0]
    for part in parts[1:]:
        united = exp.Union(this=united, expression=part, distinct=not keep_all)
    return exp.Subquery(this=united)


def _signature(function: str) -> str:
    by = " [PARTITION BY column]" if function == "SESSION" else ""
    spelled = {"DATA": f"TABLE stream{by}", "TIMECOL": "DESCRIPTOR(column)"}
    names = ", ".join(
        f"[{name[1:].lower()}]" if name.startswith("*") else spelled.get(name, name.lower())
        for name in WINDOW_FUNCTIONS[function]
    )
    return f"it is written {function}({names})"
