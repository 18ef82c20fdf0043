"""The query model: a closed grammar of questions, the cells they cut, and how far one row moves an answer."""
