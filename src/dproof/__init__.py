"""Differential privacy on numerical, categorical, set-valued and functional data under one roof."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what tools see; at run time a name is loaded when it is first used
    from dproof import arrays as arrays
    from dproof import composition as composition
    from dproof import meaning as meaning
    from dproof import testing as testing
    from dproof.advice.before_spending import warnings_before as warnings_before
    from dproof.advice.expect import expect as expect
    from dproof.advice.ways import advise as advise
    from dproof.advice.ways import compare_ways as compare_ways
    from dproof.advice.ways import expected_answers as expected_answers
    from dproof.advice.ways import least_epsilon as least_epsilon
    from dproof.certification.certify import Certificate as Certificate
    from dproof.certification.certify import certify as certify
    from dproof.certification.certify import count_checks as count_checks
    from dproof.certification.certify import delta_over as delta_over
    from dproof.certification.certify import metric_epsilon as metric_epsilon
    from dproof.certification.certify import sufficient_sets as sufficient_sets
    from dproof.certification.certify import worst_case as worst_case
    from dproof.certification.compose import compose as compose
    from dproof.certification.compose import shuffled as shuffled
    from dproof.curator.curator import Curator as Curator
    from dproof.curator.curator import Terms as Terms
    from dproof.curator.ledger import Ledger as Ledger
    from dproof.curator.ledger import Standing as Standing
    from dproof.curves import projections as projections
    from dproof.curves.bases import Kernel as Kernel
    from dproof.curves.lattice import expand as expand
    from dproof.curves.noise import additive_noise as additive_noise
    from dproof.curves.noise import curve_noise as curve_noise
    from dproof.errors import ArgumentError as ArgumentError
    from dproof.errors import DproofError as DproofError
    from dproof.errors import DproofWarning as DproofWarning
    from dproof.errors import FileError as FileError
    from dproof.errors import InputError as InputError
    from dproof.errors import MissingExtra as MissingExtra
    from dproof.errors import NotMeasured as NotMeasured
    from dproof.errors import NotPrivate as NotPrivate
    from dproof.errors import OverBudget as OverBudget
    from dproof.errors import PlanError as PlanError
    from dproof.errors import QuestionError as QuestionError
    from dproof.errors import SourceError as SourceError
    from dproof.errors import TooLarge as TooLarge
    from dproof.errors import VerificationFailed as VerificationFailed
    from dproof.local.draw import dummy_rows as dummy_rows
    from dproof.local.mechanisms import add_mechanism as add_mechanism
    from dproof.meaning import explain as explain
    from dproof.mechanisms import noise as noise
    from dproof.mechanisms.finite import discrete_exponential as discrete_exponential
    from dproof.mechanisms.finite import exponential as exponential
    from dproof.mechanisms.finite import from_program as from_program
    from dproof.mechanisms.finite import itemwise_response as itemwise_response
    from dproof.mechanisms.finite import product_sanitisation as product_sanitisation
    from dproof.mechanisms.finite import randomised_response as randomised_response
    from dproof.mechanisms.finite import response_with as response_with
    from dproof.mechanisms.finite import solution_matrix as solution_matrix
    from dproof.mechanisms.frequency import frequency as frequency
    from dproof.mechanisms.frequency import one_item as one_item
    from dproof.mechanisms.frequency import subset_selection as subset_selection
    from dproof.mechanisms.frequency import unary_encoding as unary_encoding
    from dproof.mechanisms.mechanism import Distribution as Distribution
    from dproof.mechanisms.mechanism import Mechanism as Mechanism
    from dproof.mechanisms.noise import bounded_laplace as bounded_laplace
    from dproof.mechanisms.noise import gaussian as gaussian
    from dproof.mechanisms.noise import laplace as laplace
    from dproof.mechanisms.noise import staircase as staircase
    from dproof.mechanisms.noise import truncated_laplace as truncated_laplace
    from dproof.optimality.bounds import compare as compare
    from dproof.optimality.bounds import lower_bound as lower_bound
    from dproof.optimality.bounds import lower_bounds as lower_bounds
    from dproof.optimality.design import design as design
    from dproof.optimality.design import design_row as design_row
    from dproof.plans.draft import plan_problems as plan_problems
    from dproof.plans.plan import Plan as Plan
    from dproof.plans.reader import WrongKey as WrongKey
    from dproof.plans.reader import add_space as add_space
    from dproof.plans.reader import plan_keys as plan_keys
    from dproof.privacy import Cost as Cost
    from dproof.privacy import Privacy as Privacy
    from dproof.questions.answer import Answer as Answer
    from dproof.questions.answer import Cell as Cell
    from dproof.questions.question import Open as Open
    from dproof.questions.sensitivity import declare as declare
    from dproof.questions.sensitivity import sensitivity as sensitivity
    from dproof.questions.sql import Select as Select
    from dproof.recipe import Release as Release
    from dproof.releases.adopt import Inbox as Inbox
    from dproof.releases.adopt import adopt as adopt
    from dproof.releases.drafting import draft_plan as draft_plan
    from dproof.releases.inspection import check as check
    from dproof.releases.inspection import header as header
    from dproof.releases.load import load as load
    from dproof.releases.notebook import notebook as notebook
    from dproof.releases.sanitise import ReleasePayment as ReleasePayment
    from dproof.releases.sanitise import sanitise as sanitise
    from dproof.releases.sanitise import sanitize as sanitize
    from dproof.releases.verify import verify as verify
    from dproof.serve.client import connect as connect
    from dproof.sklearn import Sanitiser as Sanitiser
    from dproof.spaces.categories import Categories as Categories
    from dproof.spaces.categories import Subsets as Subsets
    from dproof.spaces.curves import Curves as Curves
    from dproof.spaces.dates import Dates as Dates
    from dproof.spaces.interval import Interval as Interval
    from dproof.spaces.products import Rows as Rows
    from dproof.spaces.products import Table as Table
    from dproof.spaces.products import Vectors as Vectors
    from dproof.spaces.space import Space as Space
    from dproof.survey.page import collect as collect

__version__ = "0.2.0.dev0"

_PUBLIC = {
    "Privacy": "dproof.privacy",
    "Space": "dproof.spaces.space",
    "Categories": "dproof.spaces.categories",
    "Subsets": "dproof.spaces.categories",
    "Interval": "dproof.spaces.interval",
    "Dates": "dproof.spaces.dates",
    "Vectors": "dproof.spaces.products",
    "Curves": "dproof.spaces.curves",
    "Rows": "dproof.spaces.products",
    "Table": "dproof.spaces.products",
    "add_space": "dproof.plans.reader",
    "plan_keys": "dproof.plans.reader",
    "Mechanism": "dproof.mechanisms.mechanism",
    "Distribution": "dproof.mechanisms.mechanism",
    "add_mechanism": "dproof.local.mechanisms",
    "randomised_response": "dproof.mechanisms.finite",
    "response_with": "dproof.mechanisms.finite",
    "itemwise_response": "dproof.mechanisms.finite",
    "discrete_exponential": "dproof.mechanisms.finite",
    "exponential": "dproof.mechanisms.finite",
    "solution_matrix": "dproof.mechanisms.finite",
    "product_sanitisation": "dproof.mechanisms.finite",
    "from_program": "dproof.mechanisms.finite",
    "laplace": "dproof.mechanisms.noise",
    "truncated_laplace": "dproof.mechanisms.noise",
    "bounded_laplace": "dproof.mechanisms.noise",
    "gaussian": "dproof.mechanisms.noise",
    "staircase": "dproof.mechanisms.noise",
    "unary_encoding": "dproof.mechanisms.frequency",
    "subset_selection": "dproof.mechanisms.frequency",
    "frequency": "dproof.mechanisms.frequency",
    "one_item": "dproof.mechanisms.frequency",
    "Kernel": "dproof.curves.bases",
    "expand": "dproof.curves.lattice",
    "curve_noise": "dproof.curves.noise",
    "additive_noise": "dproof.curves.noise",
    "design": "dproof.optimality.design",
    "design_row": "dproof.optimality.design",
    "compare": "dproof.optimality.bounds",
    "lower_bound": "dproof.optimality.bounds",
    "lower_bounds": "dproof.optimality.bounds",
    "certify": "dproof.certification.certify",
    "Certificate": "dproof.certification.certify",
    "sufficient_sets": "dproof.certification.certify",
    "count_checks": "dproof.certification.certify",
    "compose": "dproof.certification.compose",
    "shuffled": "dproof.certification.compose",
    "worst_case": "dproof.certification.certify",
    "delta_over": "dproof.certification.certify",
    "metric_epsilon": "dproof.certification.certify",
    "explain": "dproof.meaning",
    "Plan": "dproof.plans.plan",
    "check": "dproof.releases.inspection",
    "sanitise": "dproof.releases.sanitise",
    "sanitize": "dproof.releases.sanitise",
    "collect": "dproof.survey.page",
    "adopt": "dproof.releases.adopt",
    "Inbox": "dproof.releases.adopt",
    "Release": "dproof.recipe",
    "load": "dproof.releases.load",
    "Sanitiser": "dproof.sklearn",
    "verify": "dproof.releases.verify",
    "advise": "dproof.advice.ways",
    "expect": "dproof.advice.expect",
    "Curator": "dproof.curator.curator",
    "Ledger": "dproof.curator.ledger",
    "connect": "dproof.serve.client",
    "Select": "dproof.questions.sql",
    "sensitivity": "dproof.questions.sensitivity",
    "declare": "dproof.questions.sensitivity",
    "Open": "dproof.questions.question",
    "Cost": "dproof.privacy",
    "Answer": "dproof.questions.answer",
    "Cell": "dproof.questions.answer",
    "Standing": "dproof.curator.ledger",
    "Terms": "dproof.curator.curator",
    "ReleasePayment": "dproof.releases.sanitise",
    "WrongKey": "dproof.plans.reader",
    "plan_problems": "dproof.plans.draft",
    "draft_plan": "dproof.releases.drafting",
    "notebook": "dproof.releases.notebook",
    "warnings_before": "dproof.advice.before_spending",
    "dummy_rows": "dproof.local.draw",
    "header": "dproof.releases.inspection",
    "expected_answers": "dproof.advice.ways",
    "compare_ways": "dproof.advice.ways",
    "least_epsilon": "dproof.advice.ways",
    "DproofError": "dproof.errors",
    "DproofWarning": "dproof.errors",
    "InputError": "dproof.errors",
    "TooLarge": "dproof.errors",
    "SourceError": "dproof.errors",
    "QuestionError": "dproof.errors",
    "PlanError": "dproof.errors",
    "NotMeasured": "dproof.errors",
    "MissingExtra": "dproof.errors",
    "FileError": "dproof.errors",
    "ArgumentError": "dproof.errors",
    "NotPrivate": "dproof.errors",
    "OverBudget": "dproof.errors",
    "VerificationFailed": "dproof.errors",
}

_MODULES = {  # with names of their own, as in dp.arrays.mean
    "arrays": "dproof.arrays",
    "composition": "dproof.composition",
    "meaning": "dproof.meaning",
    "noise": "dproof.mechanisms.noise",
    "projections": "dproof.curves.projections",
    "testing": "dproof.testing",
}
__all__ = ["__version__", *_PUBLIC]


if not TYPE_CHECKING:  # else every name would pass a type checker

    def __getattr__(name: str) -> Any:
        """Load a public name when it is first used, so that importing dproof stays quick."""
        if name in _MODULES:
            return import_module(_MODULES[name])
        if name not in _PUBLIC:
            raise AttributeError(f"module 'dproof' has no attribute {name!r}")
        value = getattr(import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
