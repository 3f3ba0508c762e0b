"""The names of the parts, for the help texts; scripts/cli_reference.py writes this file."""

NAMES = {
    "task": "best, estimate, certify, compare, compare-models, identify",
    "metric": "accuracy, calibration, confusion, cost:FILE, kappa, prevalence, precision, recall, f1, fpr",
    "prior": "uniform, informed, learned",
    "policy": "boundary, thompson, toptwo, greedy, epsilon, ucb, lottery, neyman, items, groups",
}
