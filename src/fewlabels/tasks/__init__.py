"""The tasks: the questions about a metric. A task is a file here, and its line below."""

from fewlabels.tasks.base import Answer as Answer
from fewlabels.tasks.base import Rewards as Rewards
from fewlabels.tasks.base import Task as Task
from fewlabels.tasks.best import Best as Best
from fewlabels.tasks.certify import Certify as Certify
from fewlabels.tasks.compare import Compare as Compare
from fewlabels.tasks.compare_models import CompareModels as CompareModels
from fewlabels.tasks.estimate import Estimate as Estimate
from fewlabels.tasks.identify import Identify as Identify
from fewlabels.tasks.rope import pool_rope_probabilities as pool_rope_probabilities
from fewlabels.tasks.rope import rope_probabilities as rope_probabilities
