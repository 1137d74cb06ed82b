"""CREATE AGGREGATE: local tables, and statements for the first row, each other one and the end.

CREATE [OR REPLACE] AGGREGATE name(argument TYPE, …) RETURNS TYPE {
    TABLE name (column TYPE, …);
    INITIALIZE: { INSERT INTO name VALUES (…); … }
    ITERATE: { UPDATE name SET column = … WHERE …; … }
    TERMINATE: { INSERT INTO RETURN SELECT … FROM name WHERE …; }
    EXPIRE: { … }
}

Braces around the statements of a section may be left out.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.model.schema import Column
from penstock.model.sql_aggregates import LocalTable
from penstock.model.types import Type
from penstock.sql.bind.types import bind_type
from penstock.sql.parse.grammar_foreign import ForeignParser
from penstock.sql.parse.statements import SECTIONS, CreateAggregate, ParsedChange

_CHANGES = ("INSERT INTO", "UPDATE", "DELETE FROM")


class AggregateParser(ForeignParser):
    """Reads aggregates that are written in SQL."""

    def create_aggregate(self, start: Token, replace: bool) -> CreateAggregate:
        name = self.word("a name for the aggregate")
        arguments = self._columns()
        if not self._match(TokenType.COLON):
            self.expect("RETURNS")
        returns = self._returned()
        self._brace(TokenType.L_BRACE, "{")
        tables = []
        while self._match_text_seq("TABLE"):
            table = self.word("a name for the table")
            tables.append(LocalTable(table, self._columns()))
            self._match(TokenType.SEMICOLON)
        sections: dict[str, tuple[ParsedChange, ...]] = {}
        while not self._match(TokenType.R_BRACE):
            place = self._curr
            section = self._section()
            if section in sections:
                self.refuse(f"{section} is given twice", place, hint="keep one of them")
            sections[section] = self._changes()
        for section in SECTIONS[:3]:
            if section not in sections:
                self.refuse(
                    f"aggregate `{name}` has no {section}",
                    start,
                    hint="it needs INITIALIZE, ITERATE and TERMINATE; EXPIRE can be left out",
                )
        return CreateAggregate(
            self.position_since(start), name, arguments, returns, tuple(tables), sections, replace
        )

    def _columns(self) -> tuple[Column, ...]:
        self.expect("(")
        columns = [self._column()[0]]
        while self._match(TokenType.COMMA):
            columns.append(self._column()[0])
        self._close()
        return tuple(columns)

    def _returned(self) -> Type:
        before = self._curr
        node = self._parse_types(schema=True) if before else None
        if node is None:
            self.refuse(f"expected the type of the result, not {self.found()}", before)
        span = self.span_since(before)
        return bind_type(node, self.sql[span.start : span.end].upper())

    def _section(self) -> str:
        for section in SECTIONS:
            if self._match_text_seq(section):
                self._brace(TokenType.COLON, ":")
                return section
        self.refuse(
            f"expected {', '.join(SECTIONS)} or `}}`, not {self.found()}",
            hint="tables come first, then what happens with the rows",
        )

    def _changes(self) -> tuple[ParsedChange, ...]:
        found: list[ParsedChange] = []
        braced = self._match(TokenType.L_BRACE)
        while True:
            if braced and self._match(TokenType.R_BRACE):
                self._match(TokenType.SEMICOLON)
                break
            if not braced and (not self._curr or self._is_end()):
                break
            found.append(self._change())
            if not self._match(TokenType.SEMICOLON) and self._curr and not self._is_end():
                self.refuse(f"expected `;`, not {self.found()}")
        return tuple(found)

    def _is_end(self) -> bool:
        text = self._curr.text.upper()
        return self._curr.token_type == TokenType.R_BRACE or text in SECTIONS

    def _change(self) -> ParsedChange:
        start = self._curr
        if self._match_text_seq("INSERT", "INTO"):
            return self._insert(start)
        if self._match_text_seq("UPDATE"):
            table = self.word("a table")
            self.expect("SET")
            values = [self._assignment()]
            while self._match(TokenType.COMMA):
                values.append(self._assignment())
            return ParsedChange(
                self.span_since(start), "update", table, dict(values), None, self._where()
            )
        if self._match_text_seq("DELETE", "FROM"):
            table = self.word("a table")
            return ParsedChange(self.span_since(start), "delete", table, {}, None, self._where())
        self.refuse(f"expected {' or '.join(_CHANGES)}, not {self.found()}")

    def _insert(self, start: Token) -> ParsedChange:
        table = self.word("a table")
        if self._match_text_seq("VALUES"):
            self.expect("(")
            values = self._terms()
            self._close()
            named = {str(n): value for n, value in enumerate(values)}
            return ParsedChange(self.span_since(start), "insert", table, named)
        self.expect("SELECT")
        named = {str(n): value for n, value in enumerate(self._terms())}
        source = self.word("a table") if self._match_text_seq("FROM") else None
        where = self._where()
        return ParsedChange(self.span_since(start), "insert", table, named, source, where)

    def _assignment(self) -> tuple[str, exp.Expr]:
        name = self.word("a column")
        self.expect("=")
        return name, self._term()

    def _terms(self) -> list[exp.Expr]:
        found = [self._term()]
        while self._match(TokenType.COMMA):
            found.append(self._term())
        return found

    def _term(self) -> exp.Expr:
        found = self._parse_disjunction()
        if found is None:
            self.refuse(f"expected an expression, not {self.found()}")
        return found

    def _where(self) -> exp.Expr | None:
        return self._term() if self._match_text_seq("WHERE") else None

    def _brace(self, kind: TokenType, written: str) -> None:
        if not self._match(kind):
            self.refuse(f"expected `{written}`, not {self.found()}")
