"""Plans that change while they run: boxes of joins give way to others that compute the same.

    box               which joins are exchanged together, and over what
    moving_state      the new box gets what the old one keeps, and computes what that lacks
    grouped_leaf      the same where rows of an input come aggregated to the new box
    parallel_track    both run side by side until nothing depends on what only the old one has

A host carries them out when nothing is on its way between operators (`runtime/altering.py`).
Spec: dynamic-optimization 3.
"""
