"""Scalar expressions: syntax tree -> `Expression`, names resolved and types checked.

One function per shape of the tree, found in a table; a shape that is not in the table is refused.
Where aggregates are allowed a subclass says what they become (`bind_aggregate`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import NoReturn, TypeGuard

from sqlglot import exp

from penstock.errors import NotExecutable, QueryError, SyntaxFault, TypeMismatch, UnknownName
from penstock.model.aggregate_functions import SPELLINGS
from penstock.model.expressions import Call, Case, Cast, Expression, Literal
from penstock.model.timestamps import MINUTE
from penstock.model.types import ArrayType, DecimalType, MapType, StructType, Type
from penstock.model.user_calls import UserCall, brought, typed
from penstock.model.user_defined import UserAggregate, UserFunction
from penstock.sql.bind import literal as bind_literal
from penstock.sql.bind.context import Context, Names
from penstock.sql.bind.localize import localized
from penstock.sql.bind.scope import Scope
from penstock.sql.bind.spark_call import (
    GIVES_ROWS,
    MOMENTS,
    NOW,
    OnlySpark,
    is_part_of_spark,
    is_unknown,
    no_fields,
    no_function,
    refuse_without_spark,
    spark_call,
)
from penstock.sql.bind.types import NAMED, bind_type
from penstock.sql.parse.grammar_explode import GENERATORS
from penstock.sql.parse.syntax import Windowed

_UNARY: dict[type[exp.Expr], str] = {exp.Not: "not", exp.BitwiseNot: "~"}

_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.And: "and",
    exp.Or: "or",
    exp.DPipe: "||",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.RegexpLike: "rlike",
}

#: Spark's functions that are casts: `int(x)`; `date(x)` is to_date.
_CASTS = {name.lower(): of for name, of in NAMED.items() if of is not Type.DATE}

#: EXTRACT(unit FROM …), where the function that gives it is not called like the unit.
_UNITS = {"week": "weekofyear", "day": "dayofmonth", "doy": "dayofyear"}
_EXTRACTED = "year, quarter, month, week, day, doy, dayofweek, hour, minute, second"

#: Aggregates of Spark that cannot be computed here.
# fmt: off
OTHER_AGGREGATES = frozenset({
    "any_value", "bit_and", "bit_or", "bit_xor", "corr", "count_if", "count_min_sketch",
    "covar_pop", "covar_samp", "grouping", "histogram_numeric", "kurtosis", "listagg", "regr_avgx",
    "skewness", "string_agg",
})
# fmt: on

#: Comparisons -> how a constant behind, or in front of, an integer is rounded; None: not at all.
_NEXT_WHOLE = {
    **dict.fromkeys(("=", "<>", "<=>"), (None, None)),
    ">": (ROUND_FLOOR, ROUND_CEILING),
    ">=": (ROUND_CEILING, ROUND_FLOOR),
    "<": (ROUND_CEILING, ROUND_FLOOR),
    "<=": (ROUND_FLOOR, ROUND_CEILING),
}

#: What EXTRACT(SECOND FROM …) gives.
_SECONDS = DecimalType(8, 6)

#: Shapes that only Spark can compute, unless they are of types of ours: elements and fields.
_OF_SPARK = (exp.Bracket, exp.Dot)

#: `row-num` reads as a subtraction; these are the names it can be.
_HYPHENATED = {("row", "num"), ("seq", "num"), ("arrival", "ts")}


#: What Flink's TO_TIMESTAMP_LTZ takes as its second argument, and what that makes it.
_FLINK_PRECISIONS = {"0": "timestamp_seconds", "3": "timestamp_millis"}

#: A note at calls of aggregates that users have defined.
_USERS = "aggregate of a user"


class ExpressionBinder:
    """Binds expressions over the fields of a scope."""

    def __init__(
        self, context: Context, scope: Scope, qualifiers: Collection[str] = frozenset()
    ) -> None:
        self.context = context
        self.scope = scope
        self.qualifiers = qualifiers  # what stands before columns besides inputs, in lower case

    def bind(self, node: exp.Expr) -> Expression:
        """The expression that a part of the tree stands for."""
        with self.context.located(node):
            host = self.context.names.host
            try:
                handler = _HANDLERS.get(type(node))
                if handler is None:
                    self._refuse(node)
                found = with_doubles(handler(self, node))
                found = localized(found, self.context.names.time_zone)
                if host is not None and is_part_of_spark(found):
                    raise OnlySpark(NotExecutable("only Spark can compute it"))
                return found
            except OnlySpark as only:
                if host is None:
                    raise only.cause from None
                return spark_call(node, self.ours, host, self.context, only.cause)
            except TypeMismatch as refused:
                if host is None or not self._has_parts(node):
                    raise
                return spark_call(node, self.ours, host, self.context, refused)

    def _has_parts(self, node: exp.Expr) -> bool:
        """Whether it computes with arrays, maps or structs, for which Spark may have a meaning."""
        if not isinstance(node, (exp.Anonymous, exp.Binary, exp.Cast)) or is_aggregate(node):
            return False
        with suppress(QueryError):
            parts = [each for each in node.iter_expressions() if not isinstance(each, exp.DataType)]
            return any(self.bind(each).type.is_nested for each in parts)
        return False

    def ours(self, part: exp.Expr) -> Expression | None:
        """What a part of an expression for Spark is to us; None: it is Spark's."""
        if isinstance(part, exp.Column):
            return self._named(part)
        if isinstance(part, exp.Sub) and (name := hyphenated(part, self.scope)) is not None:
            return self.column(name)
        if isinstance(part, (Windowed, exp.Filter)) or is_aggregate(part):
            return self.aggregate(part)
        is_call = isinstance(part, exp.Anonymous)
        return self.bind(part) if is_call and self.context.names.function(part.name) else None

    def _named(self, node: exp.Column) -> Expression:
        """A column, or a field of one."""
        with_fields = self.with_fields(node)
        return self.column(node) if with_fields is node else self.bind(with_fields)

    def with_fields(self, node: exp.Expr) -> exp.Expr:
        """`a.b.c` as fields of a column, where it is not the column of an input."""
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return node
        names = [part for part in node.parts if isinstance(part, exp.Identifier)]
        if len(names) < 2:
            return node
        known = 2 if self._is_qualified(names[1].name, names[0].name) else 1
        if known == len(names):
            return node
        if known == 1 and not self._is_column(names[0].name):
            return node
        table = names[0] if known == 2 else None
        found: exp.Expr = exp.Column(this=names[known - 1], table=table)
        for name in names[known:]:
            found = exp.Dot(this=found, expression=name)
        return found

    def _is_qualified(self, name: str, qualifier: str) -> bool:
        is_ours = qualifier.lower() in self.qualifiers
        return self.scope.has(name, None if is_ours else qualifier)

    def _is_column(self, name: str) -> bool:
        """Whether it is a column and no input: what stands behind a dot is a field of it."""
        inputs = {(field.qualifier or "").lower() for field in self.scope.fields}
        return self.scope.has(name) and name.lower() not in {*inputs, *self.qualifiers}

    def _field(self, node: exp.Dot) -> Expression:
        """`s.name`, where `s` is anything that is a struct, or a map with such a key."""
        value, name = self.bind(node.this), Literal(node.expression.name, Type.STRING)
        if isinstance(value.type, MapType) and value.type.key is Type.STRING:
            return Call("get", (value, name))
        if not isinstance(value.type, StructType):
            raise OnlySpark(no_fields(value, name.value))
        return Call("get_field", (value, name))

    def _element(self, node: exp.Bracket) -> Expression:
        """`a[0]` and `m['k']`."""
        self.context.only(node, "this", "expressions")
        [place] = node.expressions
        try:
            value = self.bind(node.this)
        except UnknownName:
            if not isinstance(node.this, exp.Anonymous):
                raise
            self._refuse(node)  # the function that is missing gives arrays elsewhere
        if isinstance(value.type, StructType):
            fields = ", ".join(f"{value}.{name}" for name, _ in value.type.fields)
            raise NotExecutable(_REFUSED[exp.Bracket][0], hint=f"a struct has fields: {fields}")
        if not isinstance(value.type, ArrayType | MapType):
            self._refuse(node)
        return Call("get", (value, self.bind(place)))

    def values(self, *nodes: exp.Expr) -> list[Expression]:
        """Values that are computed with each other."""
        found = [self.bind(node) for node in nodes]
        if any(value.type is Type.INTERVAL for value in found):
            return [as_double(value) for value in found]
        return found

    def column(self, node: exp.Column) -> Expression:
        """A column by its name."""
        self.context.only(node, "this", "table")
        if isinstance(node.this, exp.Star):
            self._refuse(node.this)
        return self.scope.resolve(node.name, node.table or None).ref

    def aggregate(self, node: exp.Expr) -> Expression:
        """An aggregate, with or without a window behind it."""
        raise SyntaxFault(
            f"`{self.context.written(node)}` is not allowed here: it is an aggregate",
            hint="compute it in an inner query: SELECT … FROM (SELECT … AS x …) WHERE x > …",
        )

    def check_shapes(self, tree: exp.Expr) -> None:
        """Refuse what would hide an aggregate from whoever looks for its window."""
        for node in tree.find_all(exp.Window, exp.Filter, exp.IgnoreNulls, exp.RespectNulls):
            if isinstance(node, exp.Filter) and is_aggregate(node.this):
                continue
            with self.context.located(node):
                self._refuse(node)

    def _refuse(self, node: exp.Expr) -> NoReturn:
        reason, hint = _REFUSED.get(type(node), (None, None))
        if isinstance(node, exp.Anonymous) and node.name.lower() in MOMENTS:
            reason, hint = NOW
        if isinstance(node, exp.Bracket):
            hint = self._instead_of_element(node)
        written = self.context.written(node)
        refused = NotExecutable(reason or f"`{written}` is not part of the dialect", hint=hint)
        raise OnlySpark(refused) if isinstance(node, _OF_SPARK) else refused

    def _instead_of_element(self, node: exp.Bracket) -> str:
        call, [place] = node.this, node.expressions
        if is_aggregate(call):
            return "this aggregate gives JSON text: on Spark, from_json(text, 'ARRAY<…>') reads it"
        is_split = isinstance(call, exp.Anonymous) and call.name.lower() == "split"
        if not is_split or len(call.expressions) < 2 or not place.is_int:
            return "for strings there is substring(text, position, count)"
        text, separator = map(self.context.written, call.expressions[:2])
        # Spark's split takes a pattern, in which a dot must be escaped.
        separator = separator.replace("\\", "").replace("[.]", ".")
        return f"write split_part({text}, {separator}, {int(place.name) + 1}), from 1 on"

    def _literal(self, node: exp.Literal) -> Expression:
        if node.is_string:
            return Literal(node.this, Type.STRING)
        return bind_literal.check_range(bind_literal.number(str(node.this)))

    def _bytes(self, node: exp.HexString) -> Expression:
        # sqlglot keeps the digits as a number, and forgets leading zeros: the text has them.
        digits = self.context.written(node)[2:-1]
        if not re.fullmatch(r"[0-9a-fA-F]*", digits):
            raise SyntaxFault(f"X'{digits}' has characters that are not hexadecimal digits")
        return Literal(bytes.fromhex("0" * (len(digits) % 2) + digits), Type.BINARY)

    def _boolean(self, node: exp.Boolean) -> Expression:
        return Literal(bool(node.this), Type.BOOLEAN)

    def _paren(self, node: exp.Paren) -> Expression:
        self.context.only(node, "this")
        return self.bind(node.this)

    def _binary(self, node: exp.Binary) -> Expression:
        self.context.only(node, "this", "expression")
        left, right = self.values(node.this, node.expression)
        if isinstance(node, exp.Add) and _is_interval(left) and _is_interval(right):
            # INTERVAL 1 HOUR 30 MINUTES comes as a sum.
            return Literal(left.value + right.value, Type.INTERVAL)
        if isinstance(node, exp.Add) and _is_interval(left) and right.type is Type.DATE:
            return self._moved("+", right, left, node.this)
        if isinstance(node, exp.Add):
            return self._moved("+", left, right, node.expression)
        return Call(_BINARY[type(node)], (left, right))

    def _minus(self, node: exp.Sub) -> Expression:
        name = hyphenated(node, self.scope)
        if name is not None:
            return self.column(name)
        left, right = self.values(node.this, node.expression)
        return self._moved("-", left, right, node.expression)

    def _moved(self, sign: str, value: Expression, by: Expression, written: exp.Expr) -> Expression:
        """A sum or difference; a DATE moved by an interval of days, as written, stays one."""
        if value.type is Type.DATE and _is_interval(by):
            days = bind_literal.whole_days(written)
            if days is not None:
                return Call(sign, (value, Literal(days, Type.INT)))
        return Call(sign, (value, by))

    def _negative(self, node: exp.Neg) -> Expression:
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return bind_literal.negated(bind_literal.number(str(inner.this)))
        value = self.bind(inner)
        if isinstance(value, Literal) and value.of is Type.INTERVAL:
            return bind_literal.negated(value)
        return Call("negative", (value,))

    def _unary(self, node: exp.Unary) -> Expression:
        return Call(_UNARY[type(node)], (self.bind(node.this),))

    def _is_distinct(self, node: exp.NullSafeNEQ) -> Expression:
        return Call("not", (Call("<=>", (self.bind(node.this), self.bind(node.expression))),))

    def _is(self, node: exp.Is) -> Expression:
        self.context.only(node, "this", "expression", "negate")
        tested = node.expression
        if isinstance(tested, exp.Null):
            found = Call("is_null", (self.bind(node.this),))
        elif isinstance(tested, exp.Boolean):
            found = Call("<=>", (self.bind(node.this), self._boolean(tested)))
        else:
            raise SyntaxFault("IS is followed by NULL, TRUE or FALSE", hint="to compare, write =")
        return Call("not", (found,)) if node.args.get("negate") else found

    def _like(self, node: exp.Expr) -> Expression:
        """LIKE and ILIKE, with NOT inside the node and ESCAPE around it."""
        escape: tuple[Expression, ...] = ()
        if isinstance(node, exp.Escape):
            escape = (self.bind(node.expression),)
            node = node.this
        self.context.only(node, "this", "expression", "negate")
        if not isinstance(node, (exp.Like, exp.ILike)):
            self._refuse(node)
        name = "like" if isinstance(node, exp.Like) else "ilike"
        matched = Call(name, (self.bind(node.this), self.bind(node.expression), *escape))
        return Call("not", (matched,)) if node.args.get("negate") else matched

    def _in(self, node: exp.In) -> Expression:
        self.context.only(node, "this", "expressions")
        if not node.expressions:
            raise SyntaxFault("IN needs at least one value", hint="write x IN (1, 2)")
        return Call("in", tuple(self.values(node.this, *node.expressions)))

    def _between(self, node: exp.Between) -> Expression:
        self.context.only(node, "this", "low", "high")
        value, low, high = self.values(node.this, node.args["low"], node.args["high"])
        return Call("and", (Call(">=", (value, low)), Call("<=", (value, high))))

    def _case(self, node: exp.Case) -> Expression:
        self.context.only(node, "this", "ifs", "default")
        subject = self.bind(node.this) if node.this else None
        branches = []
        for branch in node.args["ifs"]:
            condition = self.bind(branch.this)
            if subject is not None:
                condition = Call("=", (subject, condition))
            branches.append((condition, self.bind(branch.args["true"])))
        default = node.args.get("default")
        if default is None:
            return Case(tuple(branches))
        return Case(tuple(branches), self.bind(default))

    def _cast(self, node: exp.Cast) -> Expression:
        """A CAST; where the tree says strict, `TIMESTAMP '…'` and its like."""
        self.context.only(node, "this", "to")
        try:
            to = bind_type(node.args["to"], node.args["to"].sql("spark").upper())
        except TypeMismatch as refused:
            raise OnlySpark(refused) from None
        if type(node) is exp.Cast and isinstance(node.this, exp.Literal) and node.this.is_string:
            return bind_literal.typed(node.this.this, to, self.context.names.time_zone)
        if self.context.written(node).upper().endswith("BD"):
            exact = bind_literal.decimal(str(node.this.this))
            if exact is not None:
                return exact
        return Cast(self.bind(node.this), to)

    def _adjacent(self, node: exp.Concat) -> Expression:
        """`'a' 'b'` is one text."""
        texts = [part.this for part in node.expressions if isinstance(part, exp.Literal)]
        return Literal("".join(texts), Type.STRING)

    def _extract(self, node: exp.Extract) -> Expression:
        unit = node.this.name.lower()
        if unit not in _EXTRACTED.split(", "):
            hint = f"it can give: {_EXTRACTED}"
            raise OnlySpark(SyntaxFault(f"EXTRACT cannot give `{unit}`", hint=hint))
        value = self.bind(node.expression)
        if unit == "second":
            return Cast(_seconds_of_minute(value), _SECONDS)
        return Call(_UNITS.get(unit, unit), (value,))

    def _function(self, node: exp.Anonymous) -> Expression:
        name = node.name
        key = name.lower()
        if is_aggregate(node):
            return self.aggregate(node)
        if key in MOMENTS:
            self._refuse(node)
        if key in GENERATORS:
            raise NotExecutable(GIVES_ROWS[0], hint=GIVES_ROWS[1])
        is_cast = key in _CASTS and len(node.expressions) == 1
        given = node.expressions
        if key == "to_timestamp_ltz" and _is_precision(given):
            name, given = _FLINK_PRECISIONS[given[1].this], given[:1]
        user = self.context.names.function(name)
        is_ours = is_cast or user is not None or not is_unknown(name, len(given))
        if not is_ours and self.context.names.host is not None:
            raise OnlySpark(no_function(name))
        if not is_ours:
            refuse_without_spark(name)
        args = self.values(*given)
        if isinstance(user, UserFunction):
            user = typed(user, args)
            return UserCall(user, brought(user, args))
        if is_cast:
            return Cast(args[0], _CASTS[key])
        call = Call(name, tuple(args))
        if call.function == "nullif" and call.type is not args[0].type:
            # As wide as is needed to compare, the result is the first as it was.
            return Case(((Call("=", call.args), Literal(None, Type.NULL)),), args[0])
        return call


def as_double(value: Expression) -> Expression:
    """A constant with a point as a DOUBLE; everything else as it is."""
    if isinstance(value, Literal) and isinstance(value.of, DecimalType) and value.of.scale:
        return Literal(float(value.value), Type.DOUBLE)
    return value


def with_doubles(expression: Expression) -> Expression:
    """Constants with a point that are computed with as DOUBLE are that from the start."""
    match expression:
        case Call() if _compares_integers(expression):
            return _with_whole(expression)
        case Call():
            wanted = expression.match.parameters
            args = tuple(
                as_double(arg) if to is Type.DOUBLE else arg
                for arg, to in zip(expression.args, wanted, strict=True)
            )
            return expression if args == expression.args else Call(expression.function, args)
        case Case() if expression.type is Type.DOUBLE:
            branches = tuple((when, as_double(value)) for when, value in expression.branches)
            return Case(branches, as_double(expression.otherwise))
    return expression


def _compares_integers(call: Call) -> bool:
    return call.function in _NEXT_WHOLE and any(arg.type.is_integer for arg in call.args)


def _with_whole(call: Call) -> Call:
    """A comparison of an integer with a constant: `n > 2.5` is `n > 2`, and that is faster."""
    left, right = call.args
    is_left = isinstance(left, Literal)
    constant, other = (left, right) if is_left else (right, left)
    if not isinstance(constant, Literal) or not isinstance(constant.of, DecimalType):
        return call
    if not other.type.is_integer:
        return call
    rounding = _NEXT_WHOLE[call.function][is_left]
    if rounding is None and constant.value != int(constant.value):
        return call
    value = int(constant.value.to_integral_value(rounding))
    if not -(1 << 63) <= value < 1 << 63:
        return call
    whole = Literal(value, Type.INT if -(1 << 31) <= value < 1 << 31 else Type.BIGINT)
    return Call(call.function, (whole, other) if is_left else (other, whole))


def _seconds_of_minute(time: Expression) -> Expression:
    """The seconds of a time since its minute began, with their fraction."""
    micros = Call("unix_micros", (time,))
    within = Call("pmod", (micros, Literal(MINUTE, Type.BIGINT)))
    return Call("*", (within, Literal(Decimal("0.000001"), DecimalType(6, 6))))


def _is_precision(args: Sequence[exp.Expr]) -> bool:
    """Whether the second of two arguments is one of the numbers that say what the first counts."""
    last = args[-1] if len(args) == 2 else None
    return isinstance(last, exp.Literal) and not last.is_string and last.this in _FLINK_PRECISIONS


def _is_interval(expression: Expression) -> TypeGuard[Literal]:
    return isinstance(expression, Literal) and expression.of is Type.INTERVAL


def is_aggregate(node: exp.Expr) -> bool:
    """Whether this is a call of an aggregate function, filtered or not."""
    node, _ = filtered(node)
    if not isinstance(node, exp.Anonymous):
        return False
    name = node.name.lower()
    return name in SPELLINGS or name in OTHER_AGGREGATES or bool(node.meta.get(_USERS))


def mark_aggregates(tree: exp.Expr, names: Names) -> None:
    """Note which calls are of aggregates that users have defined: the tree alone does not tell."""
    for node in tree.find_all(exp.Anonymous):
        node.meta[_USERS] = isinstance(names.function(node.name), UserAggregate)


def filtered(node: exp.Expr) -> tuple[exp.Expr, exp.Expr | None]:
    """A call, and the condition of its FILTER clause if it has one."""
    if isinstance(node, exp.Filter):
        return node.this, node.expression.this
    return node, None


def hyphenated(node: exp.Sub, scope: Scope) -> exp.Column | None:
    """`row-num` and its like as the column they mean, unless there is something to subtract."""
    left, right = node.this, node.expression
    if not isinstance(left, exp.Column) or not isinstance(right, exp.Column) or right.table:
        return None
    words = (left.name.lower(), right.name.lower())
    if words not in _HYPHENATED or scope.has(left.name, left.table or None):
        return None
    return exp.Column(this=exp.Identifier(this="_".join(words)), table=left.args.get("table"))


_B = ExpressionBinder

_HANDLERS: dict[type[exp.Expr], Callable[..., Expression]] = {
    exp.Column: _B._named,
    exp.Dot: _B._field,
    exp.Bracket: _B._element,
    exp.Anonymous: _B._function,
    Windowed: lambda binder, node: binder.aggregate(node),
    exp.Filter: lambda binder, node: binder.aggregate(node),
    exp.Literal: _B._literal,
    exp.HexString: _B._bytes,
    exp.Boolean: _B._boolean,
    exp.Null: lambda *_: Literal(None, Type.NULL),
    exp.Paren: _B._paren,
    exp.Sub: _B._minus,
    exp.Neg: _B._negative,
    exp.NullSafeNEQ: _B._is_distinct,
    exp.Is: _B._is,
    exp.Like: _B._like,
    exp.ILike: _B._like,
    exp.Escape: _B._like,
    exp.In: _B._in,
    exp.Between: _B._between,
    exp.Case: _B._case,
    exp.Cast: _B._cast,
    exp.TryCast: _B._cast,
    exp.Interval: lambda _, node: bind_literal.interval(node),
    exp.Concat: _B._adjacent,
    exp.Extract: _B._extract,
    **dict.fromkeys(_UNARY, _B._unary),
    **dict.fromkeys(_BINARY, _B._binary),
}

_SUBQUERY = ("a subquery is not allowed in an expression", "join it in FROM instead")

#: Shapes that deserve more than a plain no.
_REFUSED: dict[type[exp.Expr], tuple[str, str | None]] = {
    exp.CurrentTimestamp: NOW,
    exp.CurrentDate: NOW,
    exp.Select: _SUBQUERY,
    exp.Subquery: _SUBQUERY,
    exp.Exists: _SUBQUERY,
    exp.Star: ("`*` is not allowed in an expression", "name a column"),
    exp.Filter: (
        "FILTER is only allowed after an aggregate",
        "write sum(x) FILTER (WHERE condition)",
    ),
    exp.Window: (
        "OVER cannot be run in this release",
        "a window over a stream is written [RANGE 10 MINUTES, SLIDE 1 MINUTE]",
    ),
    exp.IgnoreNulls: ("aggregates always ignore NULL", "leave IGNORE NULLS out"),
    exp.RespectNulls: ("aggregates always ignore NULL", "leave RESPECT NULLS out"),
    exp.Distinct: ("DISTINCT is not allowed here", "write count(DISTINCT x)"),
    exp.Alias: ("named arguments are not allowed here", None),
    exp.Placeholder: ("placeholders are not part of the dialect", "write the value"),
    exp.Tuple: ("a list is not allowed here", None),
    exp.Bracket: ("only arrays and maps have elements", None),
}
