"""From a plan to a stored release: product sanitisation of whole tables. HLM15, sections 4-5; HLM16, section 4."""
