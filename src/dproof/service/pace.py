"""When answers leave, and how many questions may come: neither tells anything about the data."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_MOST_KEYS = 10_000  # whose rate is remembered; the one not seen for longest is forgotten


def until_tick(spent: float, tick: float) -> float:
    """How many seconds an answer still waits after so many: it leaves a whole number of ticks after the question came.

    So the time that reading took shows only where it passes a tick, and the tick is far longer than that.

    >>> until_tick(0.3, 1), until_tick(1.25, 1), until_tick(1, 1), until_tick(0, 0.5)
    (0.7, 0.75, 0, 0.5)
    """
    ticks = max(1, math.ceil(spent / tick))
    return round(ticks * tick - spent, 9)


class Rate:
    """So many requests a second for each key, and a few more at once.

    >>> rate = Rate(per_second=1, at_once=2, clock=lambda: 0.0)
    >>> [rate.allows("ann"), rate.allows("ann"), rate.allows("ann"), rate.allows("bob")]
    [True, True, False, True]
    """

    def __init__(self, per_second: float, at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._at_once, self._clock = per_second, at_once, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # how many, and when that was
        self._lock = threading.Lock()

    def allows(self, key: str) -> bool:
        """Whether one more may come now; if so it is counted."""
        with self._lock:
            now = self._clock()
            left, at = self._left.pop(key, (float(self._at_once), now))
            left = min(float(self._at_once), left + (now - at) * self._per_second)
            self._left[key] = (left - 1 if left >= 1 else left), now
            while len(self._left) > _MOST_KEYS:
                self._left.popitem(last=False)
            return left >= 1
