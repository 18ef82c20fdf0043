"""The local model: every row is drawn from the law of its values, and questions are answered from the drawn rows."""
