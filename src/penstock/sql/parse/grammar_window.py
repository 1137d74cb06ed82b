"""Lengths and the window clause: `[RANGE 10 minutes, SLIDE 1 minute, WA ts]`.

    clause     [ parameter … ], commas between them optional, in any order
    RANGE      ALL | TUMBLING length | length
    SLIDE      length
    WA, WATTR  column        RATTR  column        SATTR  column | rank(column)
    PA         column, … | (column, …)
    length     10 minutes | 1 hour 30 minutes | 0.5 s | INTERVAL '5' MINUTE | 1000 rows | 5 | name

A length comes out as a whole number: ticks, rows, or values of an integer column. A bare name is a
parameter that DECLARE gave a length to.  Spec: window-queries 2.1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.model.schema import suggest
from penstock.sql.parse import units
from penstock.sql.parse.grammar_expression import ExpressionParser
from penstock.sql.parse.positions import cover, located, span_of
from penstock.sql.parse.syntax import (
    AnyLength,
    Attribute,
    Length,
    Parameter,
    Span,
    WindowClause,
    Windowed,
)
from penstock.windows import Unit

KEYWORDS = ("RANGE", "SLIDE", "WA", "WATTR", "RATTR", "SATTR", "PA")

#: Words that may follow a length and are no units.
_FOLLOWERS = {*KEYWORDS, "OPTIONS", "LATENT", "TIMESTAMP", "FROM", "WITHIN", "ON", "DEFINE"}


class WindowParser(ExpressionParser):
    """Reads window clauses behind aggregates, and lengths for everybody."""

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        this = super()._parse_window(this, alias)
        if this is not None and self._at_clause():
            return self._windowed(this)
        return this

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if this is not None and self._at_clause():
            return self._windowed(this)
        return super()._parse_bracket(this)

    def _windowed(self, this: exp.Expr) -> exp.Expr:
        if isinstance(this, Windowed):
            self.refuse("a second window for the same aggregate", hint="keep one of them")
        clause = self.window_clause()
        node = Windowed(this=this, clause=clause)
        cover(node, (span_of(this) or clause.span).to(clause.span))
        return node

    def _at_clause(self) -> bool:
        """Whether the current bracket begins a window clause, and not the place of an element.

        `[RANGE 5]` is a clause; `[range]` is an element at what a column says.
        """
        if self._curr.token_type != TokenType.L_BRACKET:
            return False
        if self._next.token_type == TokenType.R_BRACKET:
            return True
        is_word = self._next.token_type != TokenType.IDENTIFIER
        after = self._tokens[self._index + 2 : self._index + 3]
        is_place = bool(after) and after[0].token_type == TokenType.R_BRACKET
        return is_word and self._next.text.upper() in KEYWORDS and not is_place

    def window_clause(self) -> WindowClause:
        """The clause whose `[` is the current token."""
        start = self._curr
        self._advance()
        given: dict[str, Any] = {}
        while not self._match(TokenType.R_BRACKET):
            self._window_parameter(given)
            if self._match(TokenType.COMMA) and self._match(TokenType.R_BRACKET, advance=False):
                self.refuse("a window parameter is missing after `,`", self._prev)
        if not given:
            self.refuse(
                "an empty window clause", self.span_since(start), hint="write [RANGE 10 MINUTES]"
            )
        return WindowClause(self.span_since(start), **given)

    def _window_parameter(self, given: dict[str, Any]) -> None:
        keyword = self._curr
        word = keyword.text.upper()
        if not self._at_keyword():
            if not keyword:
                self.refuse("the window clause has no `]`")
            hint = suggest(word, KEYWORDS)
            if word in ("FROM", "AS", "WHERE", "GROUP", ")", ";"):
                hint = f"close the window first: `]` before `{keyword.text}`"
            self.refuse(f"`{keyword.text}` is not a window parameter", keyword, hint=hint)
        name = {"WA": "wattr", "PA": "partition"}.get(word, word.lower())
        if name in given or (name == "range" and "range_all" in given):
            self.refuse(f"{word} is given twice", keyword)
        self._advance()
        if name == "range":
            given.update(self._range())
        elif name == "slide":
            given["slide"] = self.length()
        elif name == "partition":
            given["partition"] = self._attributes()
        else:
            given[name] = self._attribute(may_rank=name == "sattr")

    def _range(self) -> dict[str, Any]:
        if self._match(TokenType.ALL):
            return {"range_all": True}
        if self._match_text_seq("TUMBLING"):
            return {"tumbling": True, "range": self.length()}
        return {"range": self.length()}

    def _attributes(self) -> tuple[Attribute, ...]:
        """A list that ends where the next parameter begins, with or without a comma before it."""
        wrapped = self._match(TokenType.L_PAREN)
        found = [self._attribute()]
        while self._match(TokenType.COMMA, advance=False):
            if not wrapped and self._next.text.upper() in KEYWORDS:
                break
            self._advance()
            found.append(self._attribute())
        if wrapped:
            self._close()
        return tuple(found)

    def _attribute(self, may_rank: bool = False) -> Attribute:
        start = self._curr
        if start.text.upper() == "RANK" and self._next.token_type == TokenType.L_PAREN:
            if not may_rank:
                self.refuse("rank(…) is only allowed after SATTR", start)
            self._advance(2)
            inner = self._attribute()
            if not self._match(TokenType.R_PAREN):
                self.refuse(f"expected `)` after rank(…, not {self.found()}")
            return Attribute(inner.name, inner.qualifier, self.span_since(start), ranked=True)
        if self._at_keyword():
            self.refuse(f"expected a column, not {self.found()}", hint="quote it: `range`")
        words = [self.word("a column")]
        while self._match(TokenType.DOT):
            words.append(self.word("a column"))
        if len(words) > 2:
            self.refuse("a column is written as name or stream.name", self.span_since(start))
        name = words[-1]
        # Nothing is subtracted in a window clause: row-num is a name.
        if self._match(TokenType.DASH):
            name = f"{name}_{self.word('a column')}"
        return Attribute(name, words[0] if len(words) == 2 else None, self.span_since(start))

    def _at_keyword(self) -> bool:
        """Whether the current token begins a window parameter."""
        token = self._curr
        return token.token_type != TokenType.IDENTIFIER and token.text.upper() in KEYWORDS

    def word(self, what: str) -> str:
        """The text of the current token, which must be a name."""
        token = self._curr
        if token.token_type not in self.ID_VAR_TOKENS | {TokenType.IDENTIFIER}:
            self.refuse(f"expected {what}, not {self.found()}")
        self._advance()
        return token.text

    def length(self) -> AnyLength:
        """A length, or the name of a parameter that holds one."""
        start = self._curr
        is_name = start.token_type in self.ID_VAR_TOKENS | {TokenType.IDENTIFIER}
        if not self._match(TokenType.INTERVAL) and is_name and not self._at_keyword():
            if start.text[0].isdigit():
                self._sticking(start)
            self._advance()
            return Parameter(start.text, self.span_since(start))
        if self._match(TokenType.STRING, advance=False) and not units.is_number(self._curr.text):
            self._advance()
            span = self.span_since(start)
            with located(self.sql, span):
                value, unit = units.length_of(self._prev.text)
            return Length(value, unit, span)
        return self._spelled_length(start)

    def _spelled_length(self, start: Token) -> Length:
        """`10 minutes`, `1 hour 30 minutes`, `'5' MINUTE`, `1000 rows`, `5`."""
        total, unit = self._part()
        while unit == "time" and self._match(TokenType.NUMBER, advance=False):
            more, unit = self._part()
            total += more
            if unit != "time":
                self.refuse("a length cannot mix time with something else", self.span_since(start))
        span = self.span_since(start)
        with located(self.sql, span):
            return Length(units.whole(total, unit), unit, span)

    def _part(self) -> tuple[Fraction, Unit]:
        """A number and its unit."""
        sign = -1 if self._match(TokenType.DASH) else 1
        number = self._curr
        if not self._match_set((TokenType.NUMBER, TokenType.STRING)):
            self.refuse(
                f"expected a length, not {self.found()}",
                hint="such as 10 MINUTES, 0.5 SECONDS, 1000 ROWS",
            )
        # Without a blank before its unit sqlglot takes `5s` for a SMALLINT.
        if self._match(TokenType.DCOLON, advance=False):
            self._sticking(number)
        with located(self.sql, Span(number.start, number.end + 1)):
            amount = sign * units.number(number.text)
        unit = self._curr
        is_word = unit.token_type in (TokenType.VAR, TokenType.ROW, TokenType.ROWS)
        if not is_word or unit.text.upper() in _FOLLOWERS:
            return amount, "number"
        self._advance()
        with located(self.sql, Span(unit.start, unit.end + 1)):
            return units.scaled(amount, unit.text)

    def _sticking(self, place: Token) -> NoReturn:
        self.refuse(
            f"expected a length, not `{self.sql[place.start : place.end + 1]}`",
            place,
            hint="leave a blank between the number and the unit: 10 MINUTES",
        )
