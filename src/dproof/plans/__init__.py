"""What is public about a table: its columns, what is done with each, and the questions that will be asked."""
