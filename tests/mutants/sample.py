"""Keep a seeded sample of the mutants in a session of cosmic-ray: `sample.py SESSION CONFIG --seed 1 --count 100`.

The rank of a mutant depends on its module, operator and occurrence alone, so a change elsewhere keeps the sample.
`cr-filter-operators` would take minutes for the operators that are left out: a transaction for each mutant.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from hashlib import sha256

from cosmic_ray.config import load_config
from cosmic_ray.tools.filters.filter_app import FilterApp
from cosmic_ray.work_db import WorkDB
from cosmic_ray.work_item import WorkItem


class Sample(FilterApp):
    def add_args(self, parser: ArgumentParser) -> None:
        parser.add_argument("config")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--count", type=int, default=100)

    def filter(self, work_db: WorkDB, args: Namespace) -> None:
        excluded = load_config(args.config).sub("filters", "operators-filter")["exclude-operators"]

        def rank(item: WorkItem) -> bytes:
            (mutation,) = item.mutations
            place = f"{args.seed} {mutation.module_path} {mutation.operator_name} {mutation.occurrence}"
            return sha256(place.encode()).digest()

        counted = [
            item
            for item in work_db.pending_work_items
            if not any(re.match(pattern, item.mutations[0].operator_name) for pattern in excluded)
        ]
        work_db.clear()
        work_db.add_work_items(sorted(counted, key=rank)[: args.count])


if __name__ == "__main__":
    Sample().main()
