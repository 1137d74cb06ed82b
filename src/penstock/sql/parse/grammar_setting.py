"""Settings: SET, DECLARE, and ALTER QUERY, which sets options of one query.

SET name = value
DECLARE [OR REPLACE] name = length
ALTER QUERY name SET (option = value, …)
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import QueryError
from penstock.model.assignments import Duration, OptionChange, Rows, Value, is_parameter
from penstock.model.ets import ON_DEMAND, Ets, periodic
from penstock.sql.parse import units
from penstock.sql.parse.grammar_stream import StreamParser
from penstock.sql.parse.statements import (
    AlterQuery,
    Declare,
    SetStatement,
)
from penstock.sql.parse.syntax import Parameter

#: What ends a value in a list of options.
_LIST_ENDS = (TokenType.COMMA, TokenType.R_PAREN)


class SettingParser(StreamParser):
    """Reads what is set, and to which values."""

    def set_statement(self, start: Token) -> SetStatement:
        if self._match_text_seq("TIME", "ZONE"):
            zone = self.string()
            if zone is None:
                self.refuse(
                    f"expected a time zone, not {self.found()}", hint="write 'Europe/Zurich'"
                )
            return SetStatement(self.position_since(start), "time_zone", zone)
        name = self._setting_name("a setting")
        self.expect("=")
        value = self._value_for(name)
        return SetStatement(self.position_since(start), name, value)

    def declare(self, start: Token) -> Declare:
        replace = self._match_text_seq("OR", "REPLACE")
        name = self.word("a name for the parameter")
        self.expect("=")
        value = self._value()
        if isinstance(value, str):
            value = self.parameters.get(value.lower(), value)
        if is_parameter(value):
            self.parameters = {**self.parameters, name.lower(): value}
        return Declare(self.position_since(start), name, value, replace)

    def alter_query(self, start: Token) -> AlterQuery:
        if not self._match_text_seq("QUERY"):
            kind = self._curr.text.upper()
            others = kind in ("STREAM", "TABLE", "VIEW")
            self.refuse(
                f"expected QUERY after ALTER, not {self.found()}",
                hint=f"only queries can be altered; CREATE OR REPLACE {kind} declares one anew"
                if others
                else "write ALTER QUERY name SET (option = value, …)",
            )
        place = self._curr
        name = self.word("the name of a query")
        named = self.position_since(place)
        for word in ("SET", "("):
            if not self._match_text_seq(word):
                self.refuse(
                    f"expected `{word}` after `{self._prev.text}`, not {self.found()}",
                    hint=f"write ALTER QUERY {name} SET (option = value, …)",
                )
        changes = [self._option_change([])]
        while self._match(TokenType.COMMA):
            changes.append(self._option_change(changes))
        self._close()
        return AlterQuery(self.position_since(start), name, tuple(changes), named)

    def _option_change(self, before: list[OptionChange]) -> OptionChange:
        """`option = value`, once."""
        start = self._curr
        name = self._setting_name("an option")
        if name.lower() in (change.name.lower() for change in before):
            self.refuse(f"option `{name}` is given twice", start, hint="keep one of them")
        self.expect("=")
        value = self._value_for(name, listed=True)
        return OptionChange(name, value, self.position_since(start))

    def _setting_name(self, what: str) -> str:
        # Names of settings may be words of the language: SET union = merge.
        name = self._curr.text
        if not self._curr or not name.isidentifier():
            hint = "such as aggregation = wid"
            self.refuse(f"expected the name of {what}, not {self.found()}", hint=hint)
        self._advance()
        return name

    # -- values -------------------------------------------------------------------------------

    def _is_over(self, listed: bool) -> bool:
        """Whether a value has come to its end, in a list of several or by itself."""
        return not self._curr or (listed and self._match_set(_LIST_ENDS, advance=False))

    def _value_for(self, name: str, *, listed: bool = False) -> Value:
        """What is assigned to the name, which may be none of a setting."""
        if self._is_over(listed):
            return ""
        before, first = self._index, self._curr
        found = self._value_of(name.lower())
        if found is not None:
            return found
        try:
            value = self._value(listed=listed)
            if not listed or self._is_over(listed):
                return value
        except QueryError:
            pass
        # Whether there is such a setting, and what it can be, says more than how a length is
        # written: so what cannot be read is handed on as it stands.
        self._retreat(before)
        self._skip_value(listed)
        span = self.span_since(first)
        return self.sql[span.start : span.end]

    def _skip_value(self, listed: bool) -> None:
        """Go on to the end of a value, of which nothing else is known."""
        depth = 0
        while self._curr and (depth or not self._is_over(listed)):
            depth += self._match(TokenType.L_PAREN, advance=False)
            depth -= self._match(TokenType.R_PAREN, advance=False)
            self._advance()

    def _value_of(self, name: str) -> Value | None:
        """A value that is written as that of no other setting."""
        if name == "time_zone":
            return self.string()
        return self._ets() if name == "ets" else None

    def _ets(self) -> Ets | None:
        """`on demand` and `periodic 1 SECOND`, which are more than one word."""
        start = self._curr
        if self._match_text_seq("ON", "DEMAND"):
            return ON_DEMAND
        if not self._match_text_seq("PERIODIC"):
            return None
        length = self._fixed_length()
        if length.unit != "time" or length.value <= 0:
            self.refuse(
                f"`periodic {length}` has no period",
                self.span_since(start),
                hint="write a duration, such as periodic 1 SECOND",
            )
        return periodic(length.value)

    def _value(self, *, listed: bool = False) -> Value:
        """A word, a number, or a length: what it is good for, whoever gets it knows."""
        number = self._bare_number(listed)
        if number is not None:
            return number
        token = self._curr
        is_quoted_word = token.token_type == TokenType.STRING and not token.text[:1].isdigit()
        if is_quoted_word:
            self._advance()
            return token.text
        length = self.length()
        if isinstance(length, Parameter):
            return length.name
        if length.unit == "number":
            return length.value
        return Duration(length.value) if length.unit == "time" else Rows(length.value)

    def _bare_number(self, listed: bool) -> int | float | None:
        """A number without a unit, a fraction as well; read if it is one."""
        before = self._index
        sign = "-" if self._match(TokenType.DASH) else ""
        point = "." if self._match(TokenType.DOT) else ""
        if self._match_set((TokenType.NUMBER, TokenType.STRING)):
            number = units.bare_number(f"{sign}{point}{self._prev.text}")
            if number is not None and self._is_over(listed):
                return number
        self._retreat(before)
        return None
