"""From a logical plan to a kernel graph: one small file per node family, each with its reason."""
