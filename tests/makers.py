"""Plans and tables that several tests use; one that only a single test needs stands beside it."""

HOBBIES = ["Sports", "Cars", "Reading"]
HOBBIES_AND_HOURS = """\
[privacy]
epsilon = "2"
[columns.hobby]
space = "categories"
values = ["Sports", "Cars", "Reading"]
[columns.hours]
space = "interval"
low = 0
high = 40
step = 1
"""
