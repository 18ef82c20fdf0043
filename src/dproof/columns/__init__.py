"""Columns of a plan: from texts and Arrow arrays to the codes of a space, from codes to what is stored, and NULL."""
