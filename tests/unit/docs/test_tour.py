"""The tour in docs/ is true: it runs as a doctest."""

import doctest
import pathlib

TOUR = pathlib.Path(__file__).parents[3] / "docs" / "tour.md"


def test_the_tour_runs():
    results = doctest.testfile(str(TOUR), module_relative=False)
    assert results.attempted > 20
    assert results.failed == 0
