"""From a plan and a table to a stored release, and back: drawn, written, opened, verified. HLM15, sections 4-5."""
