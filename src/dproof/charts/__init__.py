"""How charts look, and how they become SVG and PNG: nothing here knows what is drawn."""
