"""The gate: rules such as "accuracy >= 0.9", checked against the labels. Pass, fail, or not enough evidence."""

from fewlabels.gate.checking import Check as Check
from fewlabels.gate.checking import check as check
from fewlabels.gate.checking import worst as worst
from fewlabels.gate.junit import junit as junit
from fewlabels.gate.rules import Rule as Rule
from fewlabels.gate.rules import certify_from as certify_from
from fewlabels.gate.rules import own_rule as own_rule
from fewlabels.gate.rules import read_rules as read_rules
from fewlabels.gate.rules import rule_of as rule_of
