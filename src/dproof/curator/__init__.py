"""The curator: questions on the private table under a budget, with noise on every answer and a ledger."""
