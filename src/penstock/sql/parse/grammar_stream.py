"""CREATE STREAM: columns, where rows come from, and how their time works; and CREATE TABLE.

CREATE [OR REPLACE] STREAM name
  [(column TYPE, … [, column AS expression] … [, WATERMARK FOR column AS column - length])]
  [FROM format ['path']] [OPTIONS (key 'value', …)]
  [TIMESTAMP BY {column | expression [AS column]}
                [SLACK length | ORDERED | PUNCTUATED [BY column]] [clock …]
                [, column [SLACK length | ORDERED]] … [, INTERNAL [AS column]]
   | TIMESTAMP INTERNAL [AS column] | LATENT]
  [clock …]   SKEW length | LULL length | HEARTBEAT length | MAX AHEAD length
  [LATE INTO format ['path'] [OPTIONS (…)]]

CREATE [OR REPLACE] TABLE name (column TYPE, …) FROM format 'path'
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import Position, SyntaxFault
from penstock.model.assignments import ParameterValue
from penstock.model.schema import Column, suggest
from penstock.model.streams import TIMING_WORDS, Origin, Sink, Stream, TimestampKind
from penstock.model.zones import UTC
from penstock.redaction import is_secret
from penstock.sql.bind.stream import (
    EVENT_TS,
    Columns,
    DerivedColumn,
    TimeDeclaration,
    declare_stream,
    declare_table,
)
from penstock.sql.bind.types import NAMES, bind_type
from penstock.sql.parse.durations import declared_length
from penstock.sql.parse.grammar_expression import STATEMENT_STARTS, semicolon
from penstock.sql.parse.grammar_from import FromParser
from penstock.sql.parse.positions import located
from penstock.sql.parse.statements import (
    CreateStream,
    CreateTable,
    InferStream,
)
from penstock.sql.parse.syntax import Length, Span


class StreamParser(FromParser):
    """Reads declarations of streams, and what sinks share with them."""

    parameters: Mapping[str, ParameterValue]  # those that are declared before the statement

    def position_since(self, start: Token) -> Position:
        span = self.span_since(start)
        return Position(self.sql, span.start, span.end)

    def expect(self, word: str) -> None:
        if not self._match_text_seq(word):
            self.refuse(f"expected {word}, not {self.found()}")

    def string(self) -> str | None:
        return self._prev.text if self._match(TokenType.STRING) else None

    def options(self) -> tuple[tuple[str, str], ...]:
        """`(key 'value', other.key = 1)`."""
        self.expect("(")
        found: list[tuple[str, str]] = []
        while True:
            place = self._curr
            key = self.string() or self.word("the name of an option")
            while self._match(TokenType.DOT):
                key += f".{self.word('the name of an option')}"
            if key.lower() in (name.lower() for name, _ in found):
                self.refuse(f"option `{key}` is given twice", place)
            self._match(TokenType.EQ)
            found.append((key, self._option_value(key)))
            if not self._match(TokenType.COMMA):
                break
        self._close()
        return tuple(found)

    def sink(self) -> Sink:
        """`parquet 'out' [OPTIONS (…)]`, after INTO."""
        place = self._place()
        return Sink(*place, self.options() if self._match_text_seq("OPTIONS") else ())

    def _place(self) -> tuple[str, str | None]:
        """`parquet 'path'`."""
        return self.word("a format such as parquet").lower(), self.string()

    def _option_value(self, key: str) -> str:
        constants = (TokenType.STRING, TokenType.NUMBER, TokenType.TRUE, TokenType.FALSE)
        if not self._match_set(constants):
            found = "this" if is_secret(key) else self.found()
            self.refuse(f"expected a value for `{key}`, not {found}", hint=f"write {key} 'value'")
        return self._prev.text

    def create_stream(self, start: Token, replace: bool) -> CreateStream | InferStream:
        name = self.word("a name for the stream")
        inferred = self._match_text_seq("FROM", advance=False)
        columns: list[tuple[Column | DerivedColumn, Span]] = []
        time: TimeDeclaration | None = None
        if not inferred:
            time = self._declared_columns(columns)
        place: tuple[str, str | None] | None = None
        options: tuple[tuple[str, str], ...] | None = None
        timing: dict[str, Length] = {}
        late: Sink | None = None
        while self._curr:
            clause = self._curr
            if self._clock(timing):
                continue
            if self._match_text_seq("FROM") and place is None:
                place = self._place()
            elif self._match_text_seq("OPTIONS") and options is None:
                options = self.options()
            elif self._match_text_seq("LATE", "INTO") and late is None:
                late = self.sink()
            elif self._match_text_seq("TIMESTAMP") or self._match_text_seq("LATENT"):
                if time is not None:
                    self._second_time(clause, time)
                time = self._time(clause, timing)
            else:
                self._unexpected(
                    clause,
                    "a stream has each once: FROM format 'path', OPTIONS (…), "
                    "TIMESTAMP BY column [SLACK …], LATE INTO format 'path'",
                )
        origin = Origin(*(place or ("push", None)), options or ())
        position, span, text = self.position_since(start), self.span_since(start), self.sql

        def declared(columns: Columns) -> CreateStream:
            def in_zone(zone: str) -> Stream:
                with located(text, span):
                    return declare_stream(text, name, columns, time, origin, timing, zone)

            stream = in_zone(UTC)
            varies = in_zone if stream.derived else None
            return CreateStream(position, stream, replace, late, varies)

        if not inferred:
            return declared(columns)
        return InferStream(
            position, name, origin, lambda found: declared([(column, span) for column in found])
        )

    def _declared_columns(
        self, columns: list[tuple[Column | DerivedColumn, Span]]
    ) -> TimeDeclaration | None:
        """The columns in parentheses, and the time that they declare."""
        time: TimeDeclaration | None = None
        self.expect("(")
        while not self._match(TokenType.R_PAREN, advance=False):
            if self._match_text_seq("WATERMARK", "FOR", advance=False):
                mark = self._watermark()
                more = (mark.column, mark.slack)
                if time is None:
                    time = mark
                else:
                    time = dataclasses.replace(time, further=(*time.further, more))
            else:
                columns.append(self._derived_column() or self._column())
            if not self._match(TokenType.COMMA):
                break
            if self._match(TokenType.R_PAREN, advance=False):
                self.refuse("a column is missing after `,`", self._prev)
        self._close()
        return time

    def create_table(self, start: Token, replace: bool) -> CreateTable:
        name = self.word("a name for the table")
        self.expect("(")
        columns = [self._column()]
        while self._match(TokenType.COMMA):
            columns.append(self._column())
        self._close()
        self.expect("FROM")
        origin = Origin(*self._place())
        if self._curr:
            self._unexpected(
                self._curr,
                "a table is read once and has no time: CREATE TABLE name (column TYPE, …) "
                "FROM format 'path'",
            )
        with located(self.sql, self.span_since(start)):
            table = declare_table(self.sql, name, columns, origin)
        return CreateTable(self.position_since(start), table, replace)

    def _unexpected(self, clause: Token, known: str) -> NoReturn:
        is_statement = clause.text.upper() in STATEMENT_STARTS
        hint = semicolon(clause.text) if is_statement else known
        self.refuse(f"unexpected `{clause.text}`", clause, hint=hint)

    def _clock(self, timing: dict[str, Length]) -> bool:
        """A clause that ties a stream's time to the clock, noted if there is one."""
        place, word = self._curr, self._timing_word()
        if word is None:
            return False
        if word in timing:
            self.refuse(f"{word} is given twice", place, hint="keep one of them")
        timing[word] = self._fixed_length()
        return True

    def _timing_word(self) -> str | None:
        """The word of a clause that ties a stream's time to the clock, read if it is one."""
        for word in TIMING_WORDS:
            if self._match_text_seq(*word.split()):
                return word
        return None

    def _second_time(self, place: Token, first: TimeDeclaration) -> NoReturn:
        column = first.column or "column"
        self.refuse(
            "the stream's time is declared twice",
            place,
            hint="keep one declaration; for several columns that progress: "
            f"TIMESTAMP BY {column} SLACK 5 SECONDS, other SLACK 5 SECONDS, INTERNAL",
        )

    def _derived_column(self) -> tuple[DerivedColumn, Span] | None:
        """`name AS expression`, if that is what comes."""
        start = self._curr
        if self._next is None or self._next.token_type is not TokenType.ALIAS:
            return None
        name = self.word("a column")
        self._advance()
        return DerivedColumn(name, self._derivation(name)), self.span_since(start)

    def _derivation(self, column: str) -> exp.Expr:
        """The expression that a column is derived by."""
        value = self._parse_disjunction()
        if value is None:
            self.refuse(
                f"expected an expression for column `{column}`, not {self.found()}",
                hint=f"write {column} AS timestamp_millis(ms)",
            )
        return value

    def _column(self) -> tuple[Column, Span]:
        start = self._curr
        name = self.word("a column")
        before = self._curr
        node = self._parse_types(schema=True) if before else None
        if node is None:
            raise SyntaxFault(
                f"column `{name}` needs a type, not {self.found()}",
                position=self.position_since(before or start),
                hint=suggest(self._curr.text.upper(), NAMES.split(", ")),
            )
        span = self.span_since(before)
        with located(self.sql, span):
            type_ = bind_type(node, self.sql[span.start : span.end])
        if not self._match_set((TokenType.COMMA, TokenType.R_PAREN), advance=False):
            self.refuse(f"unexpected {self.found()}", hint="a column is a name and a type")
        return Column(name, type_), self.span_since(start)

    def _watermark(self) -> TimeDeclaration:
        """`WATERMARK FOR ts AS ts [- INTERVAL …]`."""
        start = self._curr
        self._advance(2)
        column = self.word("a column")
        self.expect("AS")
        place = self._curr
        if self.word("a column").lower() != column.lower():
            self.refuse(
                f"the watermark for `{column}` must be computed from `{column}`",
                place,
                hint=f"write WATERMARK FOR {column} AS {column} - INTERVAL 5 SECONDS",
            )
        slack = Length(0, "time", self.span_since(start))
        if self._match(TokenType.DASH):
            slack = self._fixed_length()
        return TimeDeclaration(TimestampKind.EXTERNAL, self.span_since(start), column, slack)

    def _time(self, clause: Token, timing: dict[str, Length]) -> TimeDeclaration:
        """The timestamp clause, its first word already read; notes how it goes with the clock."""
        if clause.text.upper() == "LATENT":
            return TimeDeclaration(TimestampKind.LATENT, self.span_since(clause))
        if self._match_text_seq("INTERNAL"):
            column = self.word("a column") if self._match_text_seq("AS") else None
            if self._match(TokenType.COMMA, advance=False):
                stamp = f"INTERNAL AS {column}" if column else "INTERNAL"
                other = self._next.text or "column"
                self.refuse(
                    "a time that rows bring along comes before the one they are stamped with",
                    self._curr,
                    hint=f"write TIMESTAMP BY {other} SLACK 5 SECONDS, {stamp}",
                )
            return TimeDeclaration(TimestampKind.INTERNAL, self.span_since(clause), column)
        if not self._match_text_seq("BY"):
            self.refuse(
                f"expected BY or INTERNAL after TIMESTAMP, not {self.found()}",
                hint="write TIMESTAMP BY column SLACK 5 SECONDS, or TIMESTAMP INTERNAL",
            )
        derived: exp.Expr | None = None
        if self._next and self._next.token_type is TokenType.L_PAREN:
            derived = self._derivation(EVENT_TS)
            named = self._match(TokenType.ALIAS)
            column = self.word("a name for the time") if named else EVENT_TS
        else:
            column = self.word("a column")
        if self._curr and self._curr.token_type is TokenType.DOT:
            self.refuse(
                f"TIMESTAMP BY names a column or calls a function, and `{column}.…` is a field",
                self._prev,
                hint=f"derive a column from it: (…, ts AS {column}.…) TIMESTAMP BY ts",
            )
        marker: str | None = None
        slack: Length | None = None
        if not self._match_text_seq("PUNCTUATED"):
            slack = self._slack(clause)
        elif self._match_text_seq("BY"):
            marker = self.word("a column")
        while self._clock(timing):
            pass
        further: list[tuple[str | None, Length | None]] = []
        while self._match(TokenType.COMMA):
            if self._match_text_seq("INTERNAL"):
                name = self.word("a column") if self._match_text_seq("AS") else None
                further.append((name, None))
                continue
            other = self.word("a column")
            if self._match_text_seq("PUNCTUATED", advance=False):
                self.refuse(
                    f"only the first time column of a stream can be punctuated, not `{other}`",
                    hint=f"write {other} SLACK 5 SECONDS, or name {other} first",
                )
            further.append((other, self._slack(clause)))
        place = self._curr
        if further and (word := self._timing_word()):
            # It would read as a clause of the column that stands before it.
            self.refuse(
                f"{word} is about the first time of a stream, `{column}`, and stands after another",
                place,
                hint=f"write it behind the first: TIMESTAMP BY {column} … {word} …, …",
            )
        span = self.span_since(clause)
        external = TimestampKind.EXTERNAL
        return TimeDeclaration(external, span, column, slack, marker, tuple(further), derived)

    def _slack(self, clause: Token) -> Length:
        """How late rows may be, by one column; ORDERED need not be written."""
        if self._match_text_seq("SLACK"):
            return self._fixed_length()
        self._match_text_seq("ORDERED")
        return Length(0, "time", self.span_since(clause))

    def _fixed_length(self) -> Length:
        """A length outside of queries, which is a constant."""
        length = self.length()
        with located(self.sql, length.span):
            return declared_length(length, self.parameters)
