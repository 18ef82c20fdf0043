"""What can go wrong, in words a user can act on.

Every message says what, where and the way out, and none carries a value of the private data.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Any


class DproofError(Exception):
    """The root of every error that dproof raises on purpose.

    Each class has a short `code`: programs and tests ask for the code or the class, and a sentence may be worded anew.
    Its `hint` says where to read on.
    """

    code = "dproof"
    hint = "dproof COMMAND --help says what a command does"

    def __init_subclass__(cls, code: str | None = None, hint: str | None = None) -> None:
        cls.code, cls.hint = code or cls.code, hint or cls.hint


class InputError(DproofError, ValueError, code="input"):
    """A request that cannot be met as it was made."""


class ArgumentError(InputError, code="argument"):
    """An argument of a function or an option of a command has the wrong type, or lies outside what is allowed."""


class PlanError(
    InputError,
    code="plan",
    hint="docs/keys.md lists the keys of a column, and dproof plan PLAN.toml shows what a plan does",
):
    """The plan cannot be read, or says what cannot be kept; the message names the key."""


class QuestionError(InputError, code="question", hint="dproof query --help says what a question may ask for"):
    """The question cannot be read, or asks for what nobody can answer in this way."""


class NotMeasured(
    QuestionError,
    code="not-measured",
    hint="dproof plan PLAN.toml shows what a release of the plan can answer",
):
    """The question is sound, but this release holds nothing that tells its answer."""


class SourceError(InputError, code="source", hint="dproof check DATA --plan PLAN.toml shows how a table is read"):
    """The table of private rows cannot be opened or read as the plan says."""


class FileError(InputError, code="file"):
    """A plan, release, certificate, ledger or folder is missing, in the way, damaged, or cannot be written."""


class MissingExtra(InputError, code="missing-extra", hint="install dproof with the extra that the message names"):
    """An optional package is not installed; the message names the extra that brings it."""

    @classmethod
    def of(cls, what: str, extra: str) -> MissingExtra:
        """The refusal of what needs an extra, with the command that brings it.

        >>> print(MissingExtra.of("a picture needs altair", "plot"))
        a picture needs altair: install dproof with the extra plot, in a checkout by python -m pip install '.[plot]'
        """
        return cls(
            f"{what}: install dproof with the extra {extra}, in a checkout by python -m pip install '.[{extra}]'"
        )

    @classmethod
    def or_module(cls, name: str, what: str) -> Any:
        """The optional package of an extra that is called as it is; `what` says for what it is needed."""
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            raise cls.of(f"{what} needs {name}", name) from None


class TooLarge(InputError, code="too-large", hint="docs/limits.md lists how large things may be"):
    """The problem is larger than can be solved; the message names the size that fits."""


class NotPrivate(
    DproofError,
    code="not-private",
    hint="dproof certify shows the inputs and the outputs that break the promise",
):
    """The mechanism breaks the promise; `witness` is the pair of inputs and the set that show it."""

    def __init__(self, message: str, witness: Any = None) -> None:
        super().__init__(message)
        self.witness = witness


class VerificationFailed(DproofError, code="verification", hint="do not rely on it: ask whoever made it"):
    """A certificate, a release or a ledger does not match its stored data or its hash chain."""


class OverBudget(DproofError, code="over-budget", hint="dproof budget LEDGER shows what was spent and what is left"):
    """The question costs more than is left; nothing was read and nothing was spent."""


class DproofWarning(UserWarning):
    """Something legitimate that a careful curator would want to know."""


def with_notes(error: BaseException) -> str:
    """The sentence of an error and what was noted on it, such as what is paid for already."""
    return "; ".join([str(error), *getattr(error, "__notes__", ())])


_SHORTEST_CUT = 3  # letters of a word that is cut short
_LEAST_ALIKE = 0.65  # of the letters alike: one slip in a word of three, but not "round" for "count"
_ELSEWHERE = {  # words of other tools, and those of dproof for the same
    "central": ("global", "trusted", "curator"),
    "interval": ("number", "numeric", "numerical", "integer", "int", "float", "real", "continuous"),
    "categories": ("text", "string", "categorical", "enum", "factor", "nominal"),
    "date": ("datetime", "timestamp"),
    "subsets": ("set", "multiple", "list"),
    "space": ("type", "dtype", "kind"),
    "low": ("min", "minimum", "lower"),
    "high": ("max", "maximum", "upper"),
    "avg": ("average",),
}


def nearest(name: object, options: Iterable[object]) -> str | None:
    """The option that was probably meant, if one is near enough: spelt alike, cut short, or called so by other tools.

    >>> [nearest(name, ["epsilon", "delta", "count"]) for name in ("epslon", "eps", "round")]
    ['epsilon', 'epsilon', None]
    >>> nearest("global", ["local", "central"])
    'central'
    """
    known, given = [str(option) for option in options], str(name).casefold()
    near = [o for o in known if o.casefold() == given] or [o for o in known if given in _ELSEWHERE.get(o, ())]
    if not near and len(given) >= _SHORTEST_CUT:
        begun = [o for o in known if o.casefold().startswith(given)]
        near = begun if len(begun) == 1 else []
    return next(iter(near or get_close_matches(str(name), known, n=1, cutoff=_LEAST_ALIKE)), None)


def did_you_mean(name: object, options: Iterable[object]) -> str:
    """The nearest of the public options, or all where none is near, as a clause to end a message with.

    >>> did_you_mean("hoby", ["hobby", "age"])
    "; did you mean 'hobby'?"
    >>> did_you_mean("AGE", ["hobby", "age"])
    "; did you mean 'age'?"
    """
    known = [str(option) for option in options]
    near = nearest(name, known)
    if near is not None:
        return f"; did you mean {near!r}?"
    return f"; known are {', '.join(known[:12])}{', …' if len(known) > 12 else ''}" if known else ""
