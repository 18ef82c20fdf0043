"""Differential privacy on numerical, categorical, set-valued and functional data under one roof."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what tools see; at run time a name is loaded when it is first used
    from dproof import arrays as arrays
    from dproof import composition as composition
    from dproof import meaning as meaning
    from dproof import testing as testing
    from dproof.advice.before_spending import warnings_before as warnings_before
    from dproof.advice.expect import expect as expect
    from dproof.advice.release_or_ask import advise as advise
    from dproof.advice.shown import shown_ways as shown_ways
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
    from dproof.releases.adopt import TicketRefused as TicketRefused
    from dproof.releases.adopt import adopt as adopt
    from dproof.releases.drafting import draft_plan as draft_plan
    from dproof.releases.drafting import notebook as notebook
    from dproof.releases.inspection import check as check
    from dproof.releases.inspection import header as header
    from dproof.releases.load import load as load
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
    from dproof.spaces.dates import Times as Times
    from dproof.spaces.interval import Interval as Interval
    from dproof.spaces.products import Rows as Rows
    from dproof.spaces.products import Table as Table
    from dproof.spaces.products import Vectors as Vectors
    from dproof.spaces.space import Space as Space
    from dproof.survey.page import collect as collect

__version__ = "0.2.0.dev0"

_NAMES = {  # the public names of each module
    "dproof.privacy": "Privacy Cost",
    "dproof.spaces.space": "Space",
    "dproof.spaces.categories": "Categories Subsets",
    "dproof.spaces.interval": "Interval",
    "dproof.spaces.dates": "Dates Times",
    "dproof.spaces.products": "Vectors Rows Table",
    "dproof.spaces.curves": "Curves",
    "dproof.plans.reader": "add_space plan_keys WrongKey",
    "dproof.mechanisms.mechanism": "Mechanism Distribution",
    "dproof.local.mechanisms": "add_mechanism",
    "dproof.mechanisms.finite": (
        "randomised_response response_with itemwise_response discrete_exponential exponential solution_matrix "
        "product_sanitisation from_program"
    ),
    "dproof.mechanisms.noise": "laplace truncated_laplace bounded_laplace gaussian staircase",
    "dproof.mechanisms.frequency": "unary_encoding subset_selection frequency one_item",
    "dproof.curves.bases": "Kernel",
    "dproof.curves.lattice": "expand",
    "dproof.curves.noise": "curve_noise additive_noise",
    "dproof.optimality.design": "design design_row",
    "dproof.optimality.bounds": "compare lower_bound lower_bounds",
    "dproof.certification.certify": (
        "certify Certificate sufficient_sets count_checks worst_case delta_over metric_epsilon"
    ),
    "dproof.certification.compose": "compose shuffled",
    "dproof.meaning": "explain",
    "dproof.plans.plan": "Plan",
    "dproof.releases.inspection": "check header",
    "dproof.releases.sanitise": "sanitise sanitize ReleasePayment",
    "dproof.survey.page": "collect",
    "dproof.releases.adopt": "adopt Inbox TicketRefused",
    "dproof.recipe": "Release",
    "dproof.releases.load": "load",
    "dproof.sklearn": "Sanitiser",
    "dproof.releases.verify": "verify",
    "dproof.advice.release_or_ask": "advise",
    "dproof.advice.ways": "expected_answers compare_ways least_epsilon",
    "dproof.advice.expect": "expect",
    "dproof.advice.shown": "shown_ways",
    "dproof.curator.curator": "Curator Terms",
    "dproof.curator.ledger": "Ledger Standing",
    "dproof.serve.client": "connect",
    "dproof.questions.sql": "Select",
    "dproof.questions.sensitivity": "sensitivity declare",
    "dproof.questions.question": "Open",
    "dproof.questions.answer": "Answer Cell",
    "dproof.plans.draft": "plan_problems",
    "dproof.releases.drafting": "draft_plan notebook",
    "dproof.advice.before_spending": "warnings_before",
    "dproof.local.draw": "dummy_rows",
    "dproof.errors": (
        "DproofError DproofWarning InputError TooLarge SourceError QuestionError PlanError NotMeasured "
        "MissingExtra FileError ArgumentError NotPrivate OverBudget VerificationFailed"
    ),
}
_PUBLIC = {name: module for module, names in _NAMES.items() for name in names.split()}

_MODULES = {  # with names of their own, as in dp.arrays.mean
    "arrays": "dproof.arrays",
    "composition": "dproof.composition",
    "meaning": "dproof.meaning",
    "noise": "dproof.mechanisms.noise",
    "projections": "dproof.curves.projections",
    "testing": "dproof.testing",
}
_OPTIONAL = {"Sanitiser": "sklearn"}  # the package that each needs, which an extra brings
__all__ = ["__version__", *_PUBLIC]


if not TYPE_CHECKING:  # else every name would pass a type checker

    def __getattr__(name: str) -> Any:
        """Load a public name when it is first used, so that importing dproof stays quick."""
        if name in _MODULES:
            return import_module(_MODULES[name])
        if name not in _PUBLIC:
            raise AttributeError(f"module 'dproof' has no attribute {name!r}")
        if name in _OPTIONAL:
            import_module("dproof.errors").MissingExtra.or_module(_OPTIONAL[name], name)
        value = getattr(import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    # Without those that cannot be loaded here: `help(dproof)` loads them all.
    absent = {name for name, package in _OPTIONAL.items() if find_spec(package) is None}
    return sorted({*__all__, *_MODULES} - absent)
