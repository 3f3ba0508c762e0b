"""The simulator: how fast each method's error falls, by replaying it on fully labelled pools."""

from __future__ import annotations

from importlib.util import find_spec

from fewlabels.errors import FewlabelsError, needs

if find_spec("numba") is None:
    raise FewlabelsError(needs("simulating", "numba", "sim"))
