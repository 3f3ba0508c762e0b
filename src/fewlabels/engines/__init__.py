"""Tables that stay where they are: the engine that holds them answers with a summary and a reserve."""

from fewlabels.engines.columns import Columns as Columns
from fewlabels.engines.table import RemoteTable as RemoteTable
from fewlabels.engines.table import Step as Step
