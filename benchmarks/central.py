"""`python -m benchmarks.central`: the central model beside its peers, on public tables; writes docs/benchmarks-central.md."""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

import dproof as dp
from benchmarks.central_jobs import EPSILONS, LONGEST, PEERS, RESULTS, Job
from benchmarks.central_tables import DELTA, TABLES, Table
from benchmarks.pages import DOCS
from benchmarks.pair_errors import PairErrors, counted, pair_errors

RELEASES = 5  # of each table at each ε, with rows
PAGE = DOCS / "benchmarks-central.md"
