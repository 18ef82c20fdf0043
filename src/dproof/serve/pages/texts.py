"""What the pages say: every sentence and label that is longer than a word or two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dproof.exact import written

TEXTS = {
    "not_shown": "This cannot be shown",
    "no_page": "There is no such page.",
    "back": "To the tables and releases",
    "working": "Working …",
    "more_rows": "{:,} more are not shown",
    "more_text": "\n… of {:,} characters only the beginning is shown",
    # Signing in, and the first page
    "sign_in": "Sign in with the token that you were given. You stay signed in until you sign out or close the "
    "browser, or the server stops.",
    "first_token": "The first custodian gets one by a command, on the machine of the server",
    "unknown": "This token is unknown, revoked or expired. Ask the person who gave it to you for a new one.",
    "tables": "Questions to a private table are answered with noise, and each costs a part of your budget. "
    "The same question asked again is free.",
    "releases": "A release was sanitised once, so every question to it is free.",
    "no_tables": "There is no table that you may ask. A custodian can give you a token for one.",
    "no_plans": "No table has a plan yet, and without a plan nobody can ask it. Make one:",
    "no_releases": "There is no release yet.",
    # Asking
    "ask": "Write one SELECT … FROM data, or choose it. Preview it first: that is free, and tells the cost and the ±.",
    "query": "Write one SELECT … FROM release, or choose it. Every question is free.",
    "price": "Give the ε that the question may cost, or the ± that you want: then the least ε that gives it is taken.",
    "completion": "Names that fit appear below while you write; Ctrl+Space takes the first.",
    "chart": "A chart of the answer with its intervals; the table above has the same numbers.",
    "free": "Free: it was answered before, or no row can change it. Ask it to see the answer.",
    "over_budget": "That is more than is left to spend, so it would be refused. Give a smaller ε or a wider ±.",
    "spent": "nothing is left to spend",
    "spent_ways": "Nothing is left to spend on this table. Questions that were answered before stay free, and so do "
    "all questions to releases.",
    "nothing_asked": "You have asked nothing yet.",
    "earlier": "Earlier questions",
    "history": "A question that is asked again at the same price is free, and has the same answer.",
    "dummy": "Dummy rows are drawn evenly from the values that the plan declares, to try things on. They tell nothing "
    "about anybody.",
    "depends": "depends on the data",
    "uninformative": "no information: it is known to lie in a narrower range anyway",
    "public_column": "cannot be asked of the private table; a local release has it as it is",
    # The guided plan
    "plan": "Declare what you know about the table without having seen it: a plan is public. The names of the columns "
    "come from the header of the file; a few rows are compared with it, and nothing of them is shown or kept.",
    "plan_new": "There is no plan yet. A column is left out until you choose its kind.",
    "plan_saved": "The form shows the plan that is saved.",
    "plan_comments": "Comments in the file are lost when you save.",
    "plan_fixed": "The table has a ledger, which counts by this plan: it can be changed by hand only, in its file.",
    "plan_wrong": "The saved plan has a mistake: ",
    "kept": "The saved plan has these, which the form has no fields for. They are kept as they are while ticked.",
    "as_saved": "It is kept as the saved plan has it: the form has no fields for it.",
    "wide": "The table has {:,} columns, and this form shows at most {:,}: write the plan as a file, plans/{}.toml.",
    "names": "Are these names? {} of the {} in the first line of the file look like values: {}. If that line is a row "
    "of the table, it is about a person, and a plan is public: write a line of names above it, and load "
    "this page again.",
    "names_public": "These are names, not values of a person",
    "part_of": "It is a part of {}, which the form has no fields for: it is kept as the saved plan has it.",
    "values": "Values, one a line; paste them from a code book",
    "code_book": "These lines look like a code book: choose which part of a line the table holds.",
    "outside_value": "Label of other",
    "step": "Step, if any",
    "bins": "Edges of bins, separated by commas; empty: no bins",
    "promise": "ε bounds how much anybody can learn about one person: a smaller ε protects better and makes every ± "
    "wider. δ is added to it, as a probability: keep it far below 1 divided by the number of people.",
    "rows": "Rows of the table, about: only for the ± on this page",
    "questions": "Questions that matter, one a line; empty: all columns alike",
    "questions_central": "Where the questions choose what a central release measures, leave out every column that no "
    "question is about.",
    "release_tables": "A central release measures",
    "release_sums": "with sums of numbers, for means (questions choose their own)",
    "release_rows": "with made-up (synthetic) rows",
    "incomplete": "Nothing can be told yet: ",
    "choose_kind": "Choose the kind of a column to see what the plan would give.",
    "saved": "Saved as {}.",
    "wanted": "Which ε gives a ± that you want? The page looks for the least between 0.05 and 9.9, each way; "
    "where a ± depends on the data, for rows that are spread evenly.",
    "no_epsilon": "none below 10",
    "not_measured": "not measured",
    "usual": "± is the half-width of the 95 % interval. Of a column it is that of the count of one value, or of the "
    "mean of a number without bins. Asking spends all of ε on one question about a column; the questions that matter "
    "share it evenly. No information: the interval holds every value that is possible.",
    "costs_central": "{} costs most: {} of the privacy loss goes to measurements with it. Fewer values or bins, or "
    "leaving it out, makes every ± smaller.",
    "costs_local": "{} costs most: {} of ε.",
    "costs_same": "No column costs more than another.",
    "per_row": "a local release promises ε for each row, so a person with {} rows has ε = {}.",
    # What comes after the plan
    "check": "It counts the values that the plan does not cover, and shows the most frequent of them. No noise "
    "protects these figures: they are for you, and for nobody else.",
    "checked": "Missing: no value. Outside: not one of the declared values. Clamped: beyond the bounds, and moved to "
    "the nearest.",
    "check_first": "When the plan is saved, you can look at what it misses, make a release, and let analysts ask.",
    "sanitise": "It costs the ε and δ of the plan, which is all that the table has: afterwards nothing is left for "
    "questions to the table itself. Everybody with a token may query the release, free and without limit.",
    "unfinished": "Paid for and not made, because the work was stopped: {}. Sanitise under the same name and plan "
    "again: it costs nothing more.",
    "unanswered": "paid for, and stopped before it was answered",
    "ask_instead": "Without a release, analysts share the ε and δ of the plan and ask the table itself.",
    "sanitising": "You may leave this page: the work goes on.",
    "sanitised": "The release is made.",
    "to_tokens": "Hand out tokens to analysts",
    # Tables and tokens
    "upload": "Send a table from this machine, up to 1 GiB. One that is in the folder already is not replaced.",
    "give": "The token is shown once. An analyst spends a share under the promise to the people in the table: all "
    "together never spend more than the plan's ε and δ.",
    "given": "The token of {}, shown this once. Hand it over safely.",
    "holders": "Everybody who was given a token",
    "custodian_token": "A token for another custodian is made by a command only, in the folder that is served",
    "no_plan": "has no plan yet, so nobody can ask it: choose it to make one",
    "fault": "It is closed to analysts, because it cannot be read: {}",
    "misnamed": "The file {} cannot be used: rename it, with letters, digits, _ and - before the ending.",
    "revoked": "Token {} is revoked.",
    "no_table_to_give": "No table has a plan yet: choose one above and save its plan first.",
    "record": "The latest of what custodians did, on this page, by programs or by commands",
    "no_files": "There is no table yet: put one into the folder tables/, or send one from here.",
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
COLUMN_KINDS = {"interval": "number", "subsets": "set"}  # those that a plan calls otherwise
TAKEN = {
    "line": "the whole line",
    "code": "the code before = : , or a tab",
    "label": "the label after it",
    "commas": "what stands between commas",
}
OUTSIDE = {"keep": "become the nearest, or other", "refuse": "stop the work"}
MISSING = {"category": "are a category of their own", "value": "count as a value", "refuse": "stop the work"}
MODELS = {"central": "you (central): noise on counts and sums", "local": "nobody (local): noise on every row"}
NEIGHBOURS = {
    "change-one": "change-one: the number of rows is public",
    "add-remove": "add-remove: the number of rows is protected too",
}
TABLES = {
    "": "what the questions need; without any, every pair of columns",
    "1": "every column by itself",
    "2": "every pair of columns",
    "3": "every three columns",
}
WAYS = {"local": "local release", "central": "central release", "ask": "asking"}
AGGREGATES = {"count": "the number of rows", "avg": "the mean", "sum": "the sum", "median": "the median"}
COMPARISONS = {"=": "is", "<>": "is not", "<": "is less than", ">=": "is at least"}


def price(amount: Mapping[str, float]) -> str:
    """An ε and a δ as people write them."""
    return f"ε = {amount['epsilon']:.6g}, δ = {written(amount['delta'])}"


def budget_left(budget: dict[str, Any]) -> str:
    """What is left to spend, in figures and words."""
    left = budget["remaining"]
    if not left["epsilon"]:
        return TEXTS["spent_ways"]
    return f"Left to spend: {price(left)}; {budget['in_words']}."


def promise_of(release: Mapping[str, Any]) -> str:
    """The model and the price of a release."""
    return f"{release['model']} model, ε = {written(release['epsilon'])}, δ = {written(release['delta'])}"
