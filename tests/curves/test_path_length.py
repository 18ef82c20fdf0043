"""The length of the path that standardised noise takes on the sphere, on which the width of a band rests."""

from __future__ import annotations

import numpy as np
import pytest

from dproof.curves.bands import _path_length


def test_a_quarter_of_a_circle_has_its_length_whatever_the_size_of_the_noise() -> None:
    angles = np.linspace(0, np.pi / 2, 30)
    path = np.linspace(1, 9, 30) * np.array([np.cos(angles), np.sin(angles)])
    assert _path_length(path) == pytest.approx(np.pi / 2)


def test_a_point_without_noise_is_passed_over() -> None:
    angles = np.array([0.0, 0.3, 0.3, 0.9])
    path = np.array([1.0, 2.0, 0.0, 5.0]) * np.array([np.cos(angles), np.sin(angles)])
    assert _path_length(path) == pytest.approx(0.9)
