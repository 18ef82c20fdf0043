"""Mechanisms on finite spaces, noise on numbers, and how they are calibrated to a promise.

HLM15, sections 2.3 and 2.4; HLM16, sections 2 to 4.
"""
