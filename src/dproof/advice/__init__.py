"""What to expect before there is any data, and what would help."""
