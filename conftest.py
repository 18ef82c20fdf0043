"""Modules of extras that are not installed are not looked through for doctests."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pyspark") else ["src/dproof/tables/spark.py"]
