"""Let rows of a union say by which input they came, where AdaptWID watches its sources.

    AdaptWid                 AdaptWid
      Bucket                   Bucket
        Meld                     Meld
          Source a                 Tag 0
          Source b                   Source a
                                   Tag 1
                                     Source b

It learns from that how far inputs lag behind each other, and so how long windows stay open.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.optimizer.physical import PhysicalPlan, Plans, rewritten
from penstock.optimizer.specs import BucketSpec, MeldSpec, TagSpec, WindowSpec


def tag_union_inputs(plans: Plans, running: Plans) -> Plans:
    """The plans with a Tag in front of every input of such a union."""
    return rewritten(plans, _tagged)


def _tagged(plan: PhysicalPlan, before: PhysicalPlan) -> PhysicalPlan:
    match plan:
        case PhysicalPlan(
            spec=WindowSpec(algorithm="AdaptWid"),
            inputs=(PhysicalPlan(spec=BucketSpec(), inputs=(PhysicalPlan(spec=MeldSpec()),)),),
        ):
            (bucket,) = plan.inputs
            (meld,) = bucket.inputs
            tags = (PhysicalPlan(TagSpec(n), (below,)) for n, below in enumerate(meld.inputs))
            tagged = replace(bucket, inputs=(replace(meld, inputs=tuple(tags)),))
            return replace(plan, inputs=(tagged,))
    return plan
