"""What the pages say: every sentence and label that is longer than a word or two."""

from __future__ import annotations

from typing import Any

TEXTS = {
    "not_shown": "This cannot be shown",
    "back": "To the tables and releases",
    # Signing in, and the first page
    "sign_in": "Sign in with the token that you were given. It stays in this browser until you sign out.",
    "unknown": "This token is unknown, revoked or over.",
    "tables": "Questions to a private table are answered with noise, and each costs a part of your budget. "
    "The same question asked again is free.",
    "releases": "A release was sanitised once, so every question to it is free.",
    "no_tables": "There is no table that you may ask.",
    "no_releases": "There is no release yet.",
    # Asking
    "ask": "Write one SELECT … FROM data, or choose it. Preview it first: that is free, and tells the cost and the ±.",
    "query": "Write one SELECT … FROM release, or choose it. Every question is free.",
    "price": "Give the ε that the question may cost, or the ± that you want: then the least ε that gives it is taken.",
    "completion": "Names that fit appear below while you write; Ctrl+Space takes the first.",
    "chart": "A chart of the answer with its intervals; the table above has the same numbers.",
    "free": "Free: it was answered before, or no row can change it.",
    "nothing_asked": "You have asked nothing yet.",
    "history": "A question that is asked again at the same price is free, and has the same answer.",
    "dummy": "Dummy rows are drawn evenly from the values that the plan declares, to try things on. They tell nothing "
    "about anybody.",
    "depends": "depends on the data",
    "uninformative": "no information: it is known to lie in a narrower range anyway",
    "public_column": "cannot be asked of the private table; a local release has it as it is",
    # The guided plan
    "plan": "Declare what you know about the table without having seen it: a plan is public. The names of the columns "
    "come from the header of the file; nothing else of it is read here.",
    "plan_new": "There is no plan yet. A column is left out until you choose its kind.",
    "plan_saved": "The form shows the plan that is saved.",
    "plan_comments": "Comments in the file are lost when you save.",
    "plan_fixed": "The table has a ledger, which counts by this plan: the plan can be changed by hand only.",
    "plan_wrong": "The saved plan has a mistake: ",
    "kept": "The saved plan has these, which the form has no fields for. They are kept as they are while ticked.",
    "as_saved": "It is kept as the saved plan has it: the form has no fields for it.",
    "part_of": "It is a part of {}, which the form has no fields for: it is kept as the saved plan has it.",
    "values": "Values, one a line; paste them from a code book",
    "code_book": "These lines look like a code book: choose which part of a line the table holds.",
    "outside_value": "other is written",
    "bins": "Edges of bins, with commas; none: as it is",
    "rows": "Rows of the table, about: only for the ± on this page",
    "questions": "Questions that matter, one a line",
    "release_tables": "A central release measures",
    "incomplete": "Nothing can be told yet: ",
    "choose_kind": "Choose the kind of a column to see what the plan would give.",
    "saved": "Saved as {}.",
    "wanted": "Which ε gives a ± that you want? The page looks for the least between 0.05 and 9.9, each way.",
    "no_epsilon": "none below 10",
    "usual": "Of a column: the count of one value, or the mean of a number without bins. Asking: all of ε for one "
    "question about a column; the questions that matter share it evenly. ± is the half-width of the 95 % interval.",
    "costs_central": "{} costs most: {} of the privacy loss goes to measurements with it. Fewer values or bins, or "
    "leaving it out, makes every ± smaller.",
    "costs_local": "{} costs most: {} of ε.",
    "costs_same": "No column costs more than another.",
    # What comes after the plan
    "check": "It counts the values that the plan does not cover, and shows the most frequent of them. No noise "
    "protects these figures: they are for you, and for nobody else.",
    "check_first": "Save a plan first.",
    "sanitise": "It is paid from the ledger of the table. Everybody with a token may then query the release, free and "
    "without limit.",
    "sanitising": "You may leave this page: the work goes on.",
    "sanitised": "The release is made.",
    "to_tokens": "Hand out tokens to analysts",
    # Tables and tokens
    "upload": "Send a table from this machine, up to 1 GiB. One that is in the folder already is not replaced.",
    "give": "The token is shown once. An analyst spends a share under the promise to the people in the table: all "
    "together never spend more than the plan's ε and δ.",
    "given": "The token of {}, shown this once. Hand it over safely:",
    "revoked": "Token {} is revoked.",
    "no_table_to_give": "No table has a plan yet, so there is nothing to give.",
    "no_files": "Put a table into the folder tables/.",
    "verify": "Verify it, in the folder that is served",
    "in_folder": "The same command, in the folder that is served",
    "in_python": "The same in Python",
}

KINDS = {
    "drop": "leave it out",
    "categories": "categories: one of some values",
    "interval": "a number",
    "date": "a date",
    "subsets": "a set of items",
    "public": "public: released as it is",
}
TAKEN = {
    "line": "the whole line",
    "code": "the code before = : , or a tab",
    "label": "the label after it",
    "commas": "what stands between commas",
}
OUTSIDE = {"keep": "are moved to the nearest, or count as other", "refuse": "stop the work"}
MISSING = {"category": "are a value of their own", "value": "count as", "refuse": "stop the work"}
MODELS = {"central": "you: tables of the whole are measured", "local": "nobody: each row is changed by itself"}
NEIGHBOURS = {"change-one": "change-one: one row is another", "add-remove": "add-remove: one row more or less"}
TABLES = {
    "": "what the questions need; without any, every pair of columns",
    "1": "every column by itself",
    "2": "every pair of columns",
    "3": "every three columns",
}
WAYS = {"local": "local release", "central": "central release", "ask": "asking"}
AGGREGATES = {"count": "the number of rows", "avg": "the mean", "sum": "the sum", "median": "the median"}
COMPARISONS = {"=": "is", "<>": "is not", "<": "is less than", ">=": "is at least"}


def budget_left(budget: dict[str, Any]) -> str:
    """What is left to spend, in figures and words."""
    left = budget["remaining"]
    return f"Left to spend: ε = {left['epsilon']:.6g}, δ = {left['delta']:.6g}; {budget['in_words']}."
