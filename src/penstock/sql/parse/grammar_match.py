"""MATCH_RECOGNIZE behind an input of FROM.

FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY ts, seq
  MEASURES FIRST(A.price) AS first_price, LAST(B.price) AS last_price
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B+) WITHIN 1 HOUR
  DEFINE B AS B.price < PREV(B.price)
) AS m
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from sqlglot.tokenizer_core import TokenType

from penstock.model.match import Skip
from penstock.sql.parse.grammar_window import WindowParser
from penstock.sql.parse.positions import cover
from penstock.sql.parse.row_pattern import parse_row_pattern
from penstock.sql.parse.syntax import (
    Attribute,
    Definition,
    MatchClause,
    Measure,
    Relation,
    SkipClause,
    SortKey,
    Span,
)

_WRITTEN = (
    "it is written MATCH_RECOGNIZE (PARTITION BY … ORDER BY … MEASURES … AS … ONE ROW PER MATCH "
    "AFTER MATCH SKIP … PATTERN (…) WITHIN … DEFINE … AS …)"
)
_SKIPS = "write AFTER MATCH SKIP PAST LAST ROW, TO NEXT ROW, TO FIRST variable or TO LAST variable"


class MatchParser(WindowParser):
    """Reads MATCH_RECOGNIZE (…)."""

    def match_recognize(self, input_: Relation) -> MatchClause:
        """The clause whose first word was just read."""
        start = self._prev
        if not self._match(TokenType.L_PAREN):
            self.refuse(f"expected `(` after MATCH_RECOGNIZE, not {self.found()}", hint=_WRITTEN)
        readers: dict[str, Callable[[], Any]] = {
            "partition": self._match_partition,
            "order": self._match_order,
            "measures": self._match_measures,
            "rows": self._match_rows,
            "skip": self._match_skip,
            "pattern": self._match_pattern,
            "within": self._match_within,
            "subset": self._match_subset,
            "define": self._match_define,
        }
        given: dict[str, Any] = {}
        while not self._match(TokenType.R_PAREN):
            begin = self._curr
            for name, read in readers.items():
                found = read()
                if found is None:
                    continue
                if name in given:
                    self.refuse(
                        "a clause that is there already", self.span_since(begin), "keep one of them"
                    )
                given[name] = found
                break
            else:
                self.refuse(f"unexpected {self.found()} in MATCH_RECOGNIZE", hint=_WRITTEN)
        for name, word in (("order", "ORDER BY"), ("pattern", "PATTERN")):
            if name not in given:
                self.refuse(f"MATCH_RECOGNIZE needs {word}", self.span_since(start), _WRITTEN)
        given.pop("rows", None)
        clause = MatchClause(this=input_, **given)
        cover(clause, self.span_since(start))
        return clause

    def _match_partition(self) -> tuple[Attribute, ...] | None:
        if not self._match(TokenType.PARTITION_BY):
            return None
        return tuple(self._separated(self._attribute))

    def _match_order(self) -> tuple[SortKey, ...] | None:
        if not self._match(TokenType.ORDER_BY):
            return None
        return tuple(self._separated(self._sort_key))

    def _sort_key(self) -> SortKey:
        column = self._attribute()
        descending = self._match(TokenType.DESC)
        if not descending:
            self._match(TokenType.ASC)
        if self._match_text_seq("NULLS"):
            self.refuse(
                "NULLS FIRST and NULLS LAST are not supported here",
                self._prev,
                hint="leave it out: NULL counts as less than everything",
            )
        return SortKey(column, bool(descending))

    def _match_measures(self) -> tuple[Measure, ...] | None:
        if not self._match_text_seq("MEASURES"):
            return None
        return tuple(self._separated(self._measure))

    def _measure(self) -> Measure:
        start = self._curr
        if self._next.token_type in self.ID_VAR_TOKENS:
            # A match has one row, and that is its last: RUNNING and FINAL are the same there.
            _ = self._match_text_seq("FINAL") or self._match_text_seq("RUNNING")
        value = self._parse_disjunction()
        if value is None:
            self.refuse(f"expected a measure, not {self.found()}", hint=_WRITTEN)
        if not self._match(TokenType.ALIAS):
            self.refuse(
                "a measure needs a name", self.span_since(start), hint="write LAST(A.x) AS name"
            )
        name = self.word("a name")
        return Measure(name, value, self.span_since(start))

    def _match_rows(self) -> bool | None:
        if self._match_text_seq("ONE", "ROW", "PER", "MATCH"):
            return True
        start = self._curr
        if self._match_text_seq("ALL", "ROWS", "PER", "MATCH"):
            self.refuse(
                "ALL ROWS PER MATCH is not supported: a match gives one row, when it is decided",
                self.span_since(start),
                hint="write ONE ROW PER MATCH, with measures for what you need of the rows, such "
                "as collect_list(A.x)",
            )
        return None

    def _match_skip(self) -> SkipClause | None:
        start = self._curr
        if not self._match_text_seq("AFTER", "MATCH"):
            return None
        if not self._match_text_seq("SKIP"):
            self.refuse(f"expected SKIP, not {self.found()}", hint=_SKIPS)
        if self._match_text_seq("PAST", "LAST", "ROW"):
            return SkipClause(Skip("past"), self.span_since(start))
        if not self._match_text_seq("TO"):
            self.refuse(f"expected PAST LAST ROW or TO, not {self.found()}", hint=_SKIPS)
        if self._match_text_seq("NEXT", "ROW"):
            return SkipClause(Skip("next"), self.span_since(start))
        to = "last"
        is_name = self._next.token_type in self.ID_VAR_TOKENS | {TokenType.IDENTIFIER}
        is_end = self._curr.text.upper() in ("FIRST", "LAST")
        if is_name and is_end and not self._at_clause_word(1):
            to = self._curr.text.lower()
            self._advance()
        variable = self.word("a pattern variable")
        return SkipClause(Skip(to, variable), self.span_since(start))

    def _at_clause_word(self, ahead: int) -> bool:
        """Whether a word begins the next clause, and is no variable."""
        token = self._tokens[self._index + ahead]
        return token.text.upper() in ("PATTERN", "MEASURES", "ONE", "ALL", "DEFINE")

    def _match_pattern(self) -> Any:
        if not self._match_text_seq("PATTERN"):
            return None
        begin = self._curr
        if not self._match(TokenType.L_PAREN):
            self.refuse(f"expected `(` after PATTERN, not {self.found()}", hint=_WRITTEN)
        depth = 1
        while depth:
            if not self._curr:
                self.refuse("`)` is missing after PATTERN", begin, hint=_WRITTEN)
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(self._curr.token_type, 0)
            self._advance()
        text = self.sql[begin.end + 1 : self._prev.start]

        def refuse(message: str, place: Span, hint: str) -> NoReturn:
            self.refuse(message, place, hint)

        return parse_row_pattern(text, begin.end + 1, refuse), self.span_since(begin)

    def _match_within(self) -> Any:
        return self.length() if self._match_text_seq("WITHIN") else None

    def _match_subset(self) -> None:
        if self._match_text_seq("SUBSET"):
            self.refuse(
                "SUBSET is not supported",
                self._prev,
                hint="name the variables one by one: coalesce(LAST(A.x), LAST(B.x))",
            )

    def _match_define(self) -> tuple[Definition, ...] | None:
        if not self._match_text_seq("DEFINE"):
            return None
        return tuple(self._separated(self._definition))

    def _definition(self) -> Definition:
        start = self._curr
        variable = self.word("a pattern variable")
        if not self._match(TokenType.ALIAS):
            self.refuse(f"expected AS after `{variable}`, not {self.found()}", hint=_WRITTEN)
        condition = self._parse_disjunction()
        if condition is None:
            self.refuse(f"expected a condition, not {self.found()}", hint=_WRITTEN)
        return Definition(variable, condition, self.span_since(start))

    def _separated(self, read: Callable[[], Any]) -> list[Any]:
        """One or more, with commas between them."""
        found = [read()]
        while self._match(TokenType.COMMA):
            found.append(read())
        return found
