"""The central model: tables of the whole are measured once with noise, and every answer follows from them."""
