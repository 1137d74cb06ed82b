"""Statements: CREATE …, DROP, EXPLAIN, queries by themselves, and what other files read."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Literal

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import Position
from penstock.model.assignments import ParameterValue
from penstock.model.begin import Begin
from penstock.model.schema import suggest
from penstock.sql.parse.grammar_aggregate import AggregateParser
from penstock.sql.parse.grammar_expression import STATEMENT_STARTS, WINDOW_PLACES, semicolon
from penstock.sql.parse.statements import (
    BareSelect,
    CreateQuery,
    CreateView,
    Drop,
    Explain,
    ParsedQuery,
    Statement,
)
from penstock.sql.parse.syntax import DEEPEST, EmitClause, Span, depth

#: Words that begin the parts of a query.
_CLAUSE_WORDS = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "JOIN", "UNION", "WITHIN", "EMIT")
_QUERY_STARTS = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN)


_BRACES = {TokenType.L_BRACE: 1, TokenType.R_BRACE: -1}

#: What EXPLAIN can show besides a plan.
_EXPLAIN_ALSO = ("ALTERNATIVES", "ANALYZE")


class StatementParser(AggregateParser):
    """Reads a text of statements with `;` between them."""

    def statements(
        self, tokens: list[Token], text: str, parameters: Mapping[str, ParameterValue]
    ) -> list[Statement]:
        """All statements of the text, which may use these parameters."""
        self.reset()
        self.parameters = parameters
        self.sql = text
        self._chunks = [[]]
        depth = 0  # of braces: semicolons inside them end no statement
        for token in tokens:
            depth += _BRACES.get(token.token_type, 0)
            if token.token_type == TokenType.IDENTIFIER and not token.text:
                self.refuse("a name cannot be empty", token, hint="write a name between the quotes")
            if token.token_type == TokenType.SEMICOLON and depth <= 0:
                self._chunks.append([])
            else:
                self._chunks[-1].append(token)
        self._chunks = [chunk for chunk in self._chunks if chunk]
        found = []
        while self._chunk_index < len(self._chunks):
            self._advance_chunk()
            found.append(self._whole_statement())
        return found

    def place(self) -> Position:
        """Where reading has got to."""
        return self.position_since(self._prev)

    def _parse_statement(self) -> exp.Expr | None:
        """What sqlglot asks for inside WITH: a query, nothing else."""
        return self._parse_ddl_select()

    def _whole_statement(self) -> Statement:
        statement = self._one_statement()
        if self._curr:
            self.refuse(f"unexpected {self.found()}", hint=self._way_on())
        return statement

    def _way_on(self) -> str | None:
        """What may be meant where a statement goes on after its end."""
        if self._curr.token_type == TokenType.L_BRACKET:
            return WINDOW_PLACES
        if self._curr.text.upper() in STATEMENT_STARTS:
            return semicolon(self._curr.text)
        # A misspelt word has been read as a name before it.
        word = self._prev.text.upper() if self._prev else ""
        near = difflib.get_close_matches(word, _CLAUSE_WORDS, n=1, cutoff=0.65)
        return f"did you mean `{near[0]}` instead of `{self._prev.text}`?" if near else None

    def _one_statement(self) -> Statement:
        start = self._curr
        if start.token_type in _QUERY_STARTS:
            query = self._query()
            return BareSelect(self.position_since(start), query)
        readers: dict[str, Callable[[Token], Statement]] = {
            "CREATE": self._create,
            "DROP": self._drop,
            "ALTER": self.alter_query,
            "SET": self.set_statement,
            "DECLARE": self.declare,
            "EXPLAIN": self._explain,
            "SHOW": self.show,
            "DESCRIBE": self.describe,
            "DESC": self.describe,
        }
        if self._match_text_seq("INSERT"):
            self.insert(start)
        for word, read in readers.items():
            if self._match_text_seq(word):
                return read(start)
        self.refuse(
            f"no statement begins with {self.found()}",
            hint=suggest(start.text.upper(), STATEMENT_STARTS),
        )

    def _query(self) -> ParsedQuery:
        start = self._curr
        tree = self._parse_ddl_select()
        if tree is None:
            self.refuse(f"expected a query, not {self.found()}", hint="it begins with SELECT")
        emit = self._emit()
        span = self.span_since(start)
        if depth(tree, lambda node: node.iter_expressions()) > DEEPEST:
            self.refuse("this is nested too deeply", span, hint="split it into views")
        return ParsedQuery(tree, self.sql, span, emit)

    def _emit(self) -> EmitClause | None:
        """`EMIT ON WINDOW CLOSE`, which is what happens anyway, `EMIT EVERY d`, `EMIT CHANGES`."""
        start = self._curr
        if not self._match_text_seq("EMIT"):
            return None
        if self._match_text_seq("ON", "WINDOW", "CLOSE"):
            return None
        if self._match_text_seq("CHANGES"):
            return EmitClause(self.span_since(start))
        if self._match_text_seq("EVERY"):
            every = self.length()
            return EmitClause(self.span_since(start), every)
        self.refuse(
            f"expected ON WINDOW CLOSE, EVERY or CHANGES after EMIT, not {self.found()}",
            hint="such as EMIT EVERY 10 SECONDS",
        )

    def _create(self, start: Token) -> Statement:
        replace = self._match_text_seq("OR", "REPLACE")
        if self._match_text_seq("STREAM"):
            return self.create_stream(start, replace)
        if self._match_text_seq("TABLE"):
            self.refuse_foreign_table(start)
            return self.create_table(start, replace)
        if self._match_text_seq("VIEW"):
            name = self.word("a name for the view")
            self.expect("AS")
            query = self._query()
            if query.emit is not None:
                self.refuse(
                    "a view cannot EMIT: its rows would replace each other",
                    query.emit.span,
                    hint="put EMIT at the end of the continuous query",
                )
            return CreateView(self.position_since(start), name, query, replace)
        if self._match_text_seq("AGGREGATE"):
            return self.create_aggregate(start, replace)
        continuous = self._match_text_seq("CONTINUOUS")
        replace = self._match_text_seq("OR", "REPLACE") or replace
        if self._match_text_seq("QUERY"):
            replace = self._match_text_seq("OR", "REPLACE") or replace
            return self._create_query(start, replace)
        kinds = ("QUERY",) if continuous else ("STREAM", "TABLE", "QUERY", "VIEW", "AGGREGATE")
        self.refuse(
            f"expected {' or '.join(kinds)} after {self._prev.text.upper()}, not {self.found()}",
            hint=suggest(self._curr.text.upper(), kinds),
        )

    def _create_query(self, start: Token, replace: bool) -> CreateQuery:
        name = self.word("a name for the query")
        sink = self.sink() if self._match_text_seq("INTO") else None
        begin = self._begin() if self._match_text_seq("FROM") else None
        self.expect("AS")
        query = self._query()
        return CreateQuery(self.position_since(start), name, query, sink, replace, begin)

    def _begin(self) -> Begin:
        """Which rows a query sees that comes to streams which run already."""
        for each in Begin:
            if self._match_text_seq(each.name):
                return each
        words = [each.name for each in Begin]
        self.refuse(
            f"expected {', '.join(words[:-1])} or {words[-1]} after FROM, not {self.found()}",
            hint=suggest(self._curr.text.upper(), words) if self._curr else None,
        )

    def _drop(self, start: Token) -> Drop:
        kinds: tuple[Literal["stream", "table", "query", "view", "aggregate", "function"], ...] = (
            "stream",
            "table",
            "query",
            "view",
            "aggregate",
            "function",
        )
        for kind in kinds:
            if self._match_text_seq(kind.upper()):
                if_exists = self._match_text_seq("IF", "EXISTS")
                name = self.word(f"the name of {'an' if kind == 'aggregate' else 'a'} {kind}")
                return Drop(self.position_since(start), kind, name, if_exists)
        self.refuse(
            "expected STREAM, TABLE, QUERY, VIEW, AGGREGATE or FUNCTION after DROP, not "
            f"{self.found()}",
            hint=suggest(self._curr.text.upper(), [kind.upper() for kind in kinds]),
        )

    def _explain(self, start: Token) -> Explain:
        also = self._explain_options()
        if self._curr.token_type in _QUERY_STARTS or self._curr.text.upper() == "CREATE":
            inner = self._one_statement()
            if not isinstance(inner, (BareSelect, CreateQuery)):
                place = Span(inner.position.start, inner.position.end)
                self.refuse("only queries can be explained", place, hint="EXPLAIN SELECT …")
            return Explain(self.position_since(start), inner, **also)
        name = self.word("a query, or the name of one")
        if name.upper() in _EXPLAIN_ALSO and self._curr:
            self.refuse(
                f"unexpected {self.found()}",
                hint=f"{name.upper()} stands in brackets: EXPLAIN ({name.upper()}) …",
            )
        # A query may be called `live`: only a name behind the word makes it one.
        live = name.lower() == "live" and bool(self._curr) and not also
        if live:
            name = self.word("the name of a query")
        return Explain(self.position_since(start), name, live, **also)

    def _is_explain_option(self) -> bool:
        """Whether the word behind a bracket is one, if perhaps misspelt: no query is one word."""
        ends = self._next is not None and self._next.token_type in (
            TokenType.COMMA,
            TokenType.R_PAREN,
        )
        return self._curr.text.upper() in _EXPLAIN_ALSO or ends

    def _explain_options(self) -> dict[str, bool]:
        """`(ALTERNATIVES, ANALYZE)`, in any order; anything else in brackets is a query."""
        before, found = self._index, dict[str, bool]()
        if not self._match(TokenType.L_PAREN) or not self._is_explain_option():
            self._retreat(before)
            return found
        while True:
            if self._curr.text.upper() not in _EXPLAIN_ALSO:
                self.refuse(
                    f"expected {' or '.join(_EXPLAIN_ALSO)}, not {self.found()}",
                    hint=suggest(self._curr.text.upper(), _EXPLAIN_ALSO)
                    or "write EXPLAIN (ALTERNATIVES) SELECT …",
                )
            found[self._curr.text.lower()] = True
            self._advance()
            if not self._match(TokenType.COMMA):
                break
        self.expect(")")
        return found
