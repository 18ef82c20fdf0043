"""What is public about a table: its columns, what is done with each, and the law of a row that follows from it."""
