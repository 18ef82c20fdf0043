"""A package of its own, so that no other `tests` on the path can stand in for it."""
