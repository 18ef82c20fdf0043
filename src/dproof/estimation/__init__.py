"""Debiased answers from a release: un-mix the law, and say how sure the answer is."""
