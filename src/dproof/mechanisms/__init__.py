"""One-row mechanisms {Y_d} and how they are calibrated. HLM15, sections 2.3 and 2.4; HLM16, sections 2 to 4."""
