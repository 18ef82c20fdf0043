"""`dproof serve`: tables, ledgers and releases of a folder over HTTP, for people with tokens."""
