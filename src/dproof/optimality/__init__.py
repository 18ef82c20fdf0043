"""How well a guarantee can be kept: error, lower bounds, and the mechanism of least error. HLM15, section 6."""
