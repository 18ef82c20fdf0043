"""Questions on the private table under a budget: output perturbation. HLM15, section 2.4; the sheet."""
