"""The column finder: which column is the id, the scores, the predicted class, the confidence and the content.

`find_roles` takes what the caller names, or else the documented names, and refuses whatever is not certain; `read_pool`
uses it. `guess` also looks at other names and at the values; the command line uses it, and shows what it understood.
Both compare names and patterns in the same way (`names`).
"""

from __future__ import annotations

from fewlabels.io.finder.guess import Guess, guess
from fewlabels.io.finder.names import columns_of
from fewlabels.io.finder.roles import Roles, find_roles
from fewlabels.io.finder.score_columns import MOST_SCORE_COLUMNS

__all__ = ["MOST_SCORE_COLUMNS", "Guess", "Roles", "columns_of", "find_roles", "guess"]
