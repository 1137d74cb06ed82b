"""TableJoin: the operator of that name; its static table is indexed once in each process."""

from __future__ import annotations

from penstock.kernel.joins.table_join import TableJoinSpec
from penstock.optimizer.physical import Chosen
from penstock.optimizer.specs import StaticJoinSpec
from penstock.plan import nodes


def lower_table_join(node: nodes.TableJoin) -> Chosen:
    spec = TableJoinSpec(
        node.names,
        node.input.schema.columns,
        node.table,
        node.equalities,
        node.residual,
        node.filter,
        node.kind,
    )
    by = "its hash index is probed" if spec.match.keys[0] else "all its rows are compared"
    return Chosen(
        (StaticJoinSpec(spec),),
        f"the table does not change, so rows pass at once and are not stored; {by}",
    )
