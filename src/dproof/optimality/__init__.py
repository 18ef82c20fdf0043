"""Optimality under a guarantee: error, lower bounds, and the mechanism of least error. HLM15, section 6."""
