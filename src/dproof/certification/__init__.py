"""Exactly how private a law is, and the proof. HLM15, section 3; HLM16, section 3."""
