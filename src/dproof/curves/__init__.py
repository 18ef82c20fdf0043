"""Functional mathematics: bases, kernels, projections, and noise on the coefficients of a curve."""
