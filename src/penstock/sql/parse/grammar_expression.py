"""Scalar expressions: sqlglot's Spark parser, less lenient.

sqlglot translates between dialects, so it reads more than it must: it knows a thousand functions by
their own tree nodes, skips a forgotten THEN, forgives a comma too many. A continuous query should
mean what it says, so here every function is just a name with arguments, and what is missing is
missed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, TypeVar

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parser import SENTINEL_NONE
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import Position, SyntaxFault
from penstock.sql.parse.positions import cover, span_of
from penstock.sql.parse.syntax import Span
from penstock.sql.parse.text_functions import TEXT_FUNCTIONS

T = TypeVar("T")
E = TypeVar("E", bound=exp.Expr)


WINDOW_PLACES = (
    "a window in brackets goes directly after an aggregate, or after a stream in FROM, and begins "
    "with RANGE, SLIDE, WA, RATTR, SATTR or PA"
)

#: Nodes of one token, which sqlglot does not note the place of.
_ONE_WORD = (exp.Null, exp.Boolean, exp.Star, exp.Distinct)


class Misread(ParseError):
    """sqlglot's complaint, with the place as offsets."""

    def __init__(self, message: str, span: Span, at_end: bool) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.at_end = at_end


def _some(parsers: dict[Any, Any], *keys: Any) -> dict[Any, Any]:
    return {key: parsers[key] for key in keys}


#: Words with which statements begin.
STATEMENT_STARTS = (
    *("SELECT", "CREATE", "ALTER", "DROP", "SET", "DECLARE"),
    *("EXPLAIN", "SHOW", "DESCRIBE"),
)


def semicolon(word: str) -> str:
    """The way out where a statement begins before the one before it has ended."""
    return f"a statement ends with `;`: write one before `{word}`"


class ExpressionParser(SparkParser):
    """Expressions in Spark's vocabulary; notes places that sqlglot does not."""

    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    FUNC_TOKENS: ClassVar[set[TokenType]] = {*SparkParser.FUNC_TOKENS, TokenType.SESSION}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        **_some(SparkParser.FUNCTION_PARSERS, "CAST", "TRY_CAST", "EXTRACT"),
        **TEXT_FUNCTIONS,
    }
    NO_PAREN_FUNCTION_PARSERS = _some(SparkParser.NO_PAREN_FUNCTION_PARSERS, "CASE")
    COLUMN_OPERATORS = _some(SparkParser.COLUMN_OPERATORS, TokenType.DOT, TokenType.DCOLON)
    LAMBDAS = _some(SparkParser.LAMBDAS, TokenType.ARROW, TokenType.FARROW)
    RANGE_PARSERS = _some(
        SparkParser.RANGE_PARSERS,
        TokenType.BETWEEN,
        TokenType.ILIKE,
        TokenType.IN,
        TokenType.IS,
        TokenType.LIKE,
        TokenType.RLIKE,
    )

    def span_since(self, start: Token) -> Span:
        """From that token to the last one read."""
        return Span(start.start, max(self._prev.end, start.end) + 1)

    def refuse(
        self, message: str, place: Span | Token | None = None, hint: str | None = None
    ) -> NoReturn:
        """Fail here: at the place, or at the current token."""
        place = place or self._curr or self._end()
        start, end = (
            (place.start, place.end) if isinstance(place, Span) else (place.start, place.end + 1)
        )
        raise SyntaxFault(message, position=Position(self.sql, start, end), hint=hint)

    def found(self) -> str:
        """The current token as error messages name it."""
        return f"`{self._curr.text}`" if self._curr else "the end"

    def _end(self) -> Span:
        after = self._prev.end + 1 if self._prev else 0
        return Span(after, after + 1)

    def _close(self) -> None:
        if not self._match(TokenType.R_PAREN):
            self.refuse(f"expected `)`, not {self.found()}")

    def raise_error(self, message: str, token: Token = SENTINEL_NONE) -> None:
        token = token or self._curr
        span = Span(token.start, token.end + 1) if token else self._end()
        raise Misread(message, span, at_end=not token)

    def expression(
        self, instance: E, token: Token | None = None, comments: list[str] | None = None
    ) -> E:
        if token is None and isinstance(instance, _ONE_WORD):
            token = self._prev
        return super().expression(instance, token, comments)

    def _parse_csv(
        self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA
    ) -> list[T]:
        first = parse_method()
        items = [] if first is None else [first]
        while self._match(sep):
            item = parse_method()
            if item is None or first is None:
                self.refuse(f"something is missing next to `{self._prev.text}`", self._prev)
            items.append(item)
        return items

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        low = self._parse_bitwise()
        if not self._match(TokenType.AND):
            self.refuse(f"expected AND after BETWEEN …, not {self.found()}")
        return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise()))

    def _parse_case(self) -> exp.Expr | None:
        start = self._prev
        subject = None
        if not self._match(TokenType.WHEN, advance=False):
            subject = self._parse_disjunction()
        branches = []
        while self._match(TokenType.WHEN):
            condition = self._parse_disjunction()
            if not self._match(TokenType.THEN):
                self.refuse(f"expected THEN after WHEN …, not {self.found()}")
            value = self._parse_disjunction()
            branches.append(self.expression(exp.If(this=condition, true=value)))
        if not branches:
            self.refuse("CASE needs at least one WHEN … THEN …", start)
        default = None
        if self._match(TokenType.ELSE):
            default = self._parse_disjunction()
            if default is None:
                self.refuse(f"expected a value after ELSE, not {self.found()}")
        if not self._match(TokenType.END):
            self.refuse(f"expected END after CASE …, not {self.found()}")
        case = self.expression(exp.Case(this=subject, ifs=branches, default=default))
        cover(case, self.span_since(start))
        return case

    def _parse_function_call(self, *others: Any, **more: Any) -> exp.Expr | None:
        start = self._curr
        call = super()._parse_function_call(*others, **more)
        if call is not None:
            cover(call, self.span_since(start))
        return call

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        if isinstance(this, (exp.Cast, exp.Extract)) and self._prev.token_type != TokenType.R_PAREN:
            self.refuse(f"expected `)`, not {self.found()}")
        if isinstance(this, exp.Anonymous):
            this.meta["end"] = self._prev.end
        start = None if this is None else span_of(this)
        found = super()._parse_window(this, alias)
        if isinstance(found, exp.Window) and start is not None:
            cover(found, start.to(Span(self._prev.start, self._prev.end + 1)))
        return found

    def _parse_interval(self, *others: Any, **more: Any) -> exp.Add | exp.Interval | None:
        start = self._curr
        interval = super()._parse_interval(*others, **more)
        if interval is not None:
            cover(interval, self.span_since(start))
        return interval

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        """Elements of arrays and maps; window clauses are read one class further up."""
        if this is None and self._match(TokenType.L_BRACKET, advance=False):
            self.refuse(f"unexpected `{self._curr.text}`", hint=WINDOW_PLACES)
        if self._match(TokenType.L_BRACE, advance=False):
            self.refuse(f"unexpected `{self._curr.text}`", hint=WINDOW_PLACES)
        while self._match(TokenType.L_BRACKET):
            start = None if this is None else span_of(this)
            index = self._parse_disjunction()
            if index is None or not self._match(TokenType.R_BRACKET):
                self.refuse(f"expected `]`, not {self.found()}", hint=WINDOW_PLACES)
            this = self.expression(exp.Bracket(this=this, expressions=[index]))
            end = Span(self._prev.start, self._prev.end + 1)
            cover(this, end if start is None else start.to(end))
        return this

    def _parse_type(self, *others: Any, **more: Any) -> exp.Expr | None:
        start = self._curr
        node = super()._parse_type(*others, **more)
        if isinstance(node, exp.Cast) and start:
            cover(node, self.span_since(start))
        return node

    def _parse_in(self, this: exp.Expr | None, *others: Any, **more: Any) -> exp.In:
        node = super()._parse_in(this, *others, **more)
        start = span_of(node)
        if start is not None:
            cover(node, start.to(Span(self._prev.start, self._prev.end + 1)))
        return node

    def _parse_primary(self) -> exp.Expr | None:
        start = self._curr
        node = super()._parse_primary()
        if isinstance(node, exp.Paren) and start:
            cover(node, self.span_since(start))
        return node

    def _parse_connect(self, skip_start_token: bool = False) -> exp.Connect | None:
        # sqlglot changes a table of the class while it reads CONNECT BY, and an error leaves it so.
        if skip_start_token:
            self.refuse("CONNECT BY is not part of this dialect", self._prev)
        return None
