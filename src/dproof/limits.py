"""Limits that users meet in plans, questions, releases and commands: one name and one number each.

What a number bounds is the sentence below it, and docs/limits.md has them all in a table. Bounds of one algorithm, such
as the size of a law that it can write out, stand beside it; those of the server are in `dproof.serve.limits`, and the
stand-alone verifiers, which import nothing of dproof, have their own.
"""

from __future__ import annotations

# A promise ------------------------------------------------------------------------------------------------------------

LARGEST_EPSILON = 1000
"""ε of a promise"""
LARGEST_FOUND_EPSILON = 100
"""ε that is looked for where an accuracy is asked for"""

# A plan ---------------------------------------------------------------------------------------------------------------

LONGEST_LINE = 1_000
"""characters of a text under `[about]`, and of the title of a question"""
MOST_LISTED_VALUES = 1_000_000
"""values of a column in a `values_file`"""
MOST_VALUES = 1 << 16
"""values of a column that a central release counts, or MODE and TOP choose from"""
MOST_PERIODS = 1 << 12
"""bins of a column of dates that a plan names by a period, such as `"weeks"`"""
MOST_PERIOD_COLUMNS = 1 << 10
"""columns of a plan with such bins"""
MOST_PLANNED_QUESTIONS = 1 << 11
"""`[[questions]]` of a plan"""
MOST_ITEMS = 512
"""items of a set"""
MOST_LATTICE_POINTS = 1 << 48
"""steps of an interval from `low` to `high`"""
MOST_GRID_POINTS = 1 << 13
"""grid points of a curve"""
MOST_BASIS_TERMS = 256
"""terms of a curve in a basis, unless the next two lines say otherwise"""
MOST_HATS = 512
"""terms of a curve in the hat basis, and coordinates of a vector that gets noise"""
MOST_BERNSTEIN_TERMS = 20
"""terms of a curve in the Bernstein basis"""
MOST_SHUFFLED = 1 << 24
"""rows that a promise to whoever sees them in a random order counts"""
SHUFFLED_TOGETHER = 1 << 20
"""rows of a release that are shuffled together; a table of less than twice as many is shuffled as a whole"""
MOST_COMBINATIONS = 1 << 31
"""combinations of values of joined columns"""
MOST_SAMPLED = 1 << 12
"""columns, pairs and questions of which a row is asked one, with `spread`"""
MOST_TABLES = 1 << 12
"""tables of a central release"""
MOST_TABLE_COLUMNS = 12
"""columns of one table of a central release"""
MOST_TABLE_CELLS = 10_000_000
"""cells of all tables of a central release, and of the table that a question to one needs"""
MOST_TABLE_PARTS = 1 << 16
"""sets of columns of all tables of a central release"""
MOST_ASKED_PARTS = 1 << 20
"""sets of columns of the tables and sums that a plan lists, each as often as there are tables or sums that have it"""
MOST_TOLD_PARTS = 1 << 18
"""sets of columns of measured tables with Laplace noise, each as often as there are tables that have it"""
MOST_SURVEY_VALUES = 4096
"""values of a column that the page of `dproof collect` lists"""
LARGEST_SURVEY = 1 << 20
"""bytes of the questions, texts and laws in that page"""
MOST_ANSWERS = 10_000_000
"""answers to a survey that a server keeps"""

# A table of private rows ----------------------------------------------------------------------------------------------

LARGEST_WORKBOOK = 1 << 30
"""bytes that a workbook unpacks to"""
MOST_SHEET_CELLS = 1 << 26
"""cells of a sheet, the empty ones between others too"""
MOST_TITLE_LINES = 1_000
"""line or row of a file that has the names of the columns"""
LARGEST_CHUNK = 1 << 32
"""bytes that a column of a row group of a Parquet file unpacks to"""

# A question -----------------------------------------------------------------------------------------------------------

LONGEST_QUESTION = 20_000
"""characters of a question"""
LONGEST_RAW_QUESTION = 100_000
"""characters of a question with `raw`, which DuckDB answers"""
MOST_RAW_ROWS = 1_000_000
"""rows of an answer with `raw`"""
DEEPEST_QUESTION = 100
"""brackets and functions of a question, one in another"""
MOST_DECIMALS = 15
"""decimals that ROUND takes"""
MOST_GROUPS = 10_000
"""groups of a question to a release"""
MOST_NOISY_GROUPS = 2_500
"""groups of a question to a release whose numbers under noise are worked out one by one"""
MOST_ASKED_GROUPS = 1_000
"""groups of a question to a curator without `--all`, and of single numbers where ± of noisy rows is told beforehand"""
MOST_CHOICES = 1 << 14
"""groups of a question to a curator in each of which a value is chosen"""
MOST_KEY_GROUPS = 1 << 17
"""groups by one column"""
MOST_CELLS = 1 << 24
"""cells that the conditions and groups of a question make together"""
MOST_ROW_KINDS = 1 << 18
"""kinds of rows that a question to a curator tells apart"""
MOST_CONDITION_ITEMS = 16
"""items of a set that one condition names"""
MOST_SHRUNK = 1 << 17
"""cells of a question with the method `shrinkage`"""
MOST_LOGLINEAR = 2_000
"""cells of a question with the method `loglinear`"""
MOST_PROJECTED = 1_000_000
"""cells of the tables of a central release that is asked with the method `projection`"""
MOST_DRAWN_ROWS = 200
"""rows of an answer in a chart"""
MOST_DRAWN_CURVES = 24
"""rows of an answer with curves in a chart"""

# A command or a call --------------------------------------------------------------------------------------------------

MOST_EXPECTED_ROWS = 10**15
"""rows for which an accuracy is expected (`--rows` of `dproof plan`)"""
MOST_DUMMY_ROWS = 10**7
"""dummy rows, and made-up people of `dproof demo`"""
MOST_PARTS = 100_000
"""parts of `dproof compose`"""
MOST_COMPOSED_ROWS = 1_000
"""`--rows` of `dproof compose`"""
LARGEST_MATRIX = 1 << 28
"""bytes of a file with a matrix for `dproof certify` or `dproof design`"""
LONGEST_LABEL = 200
"""characters of a label in such a file"""
