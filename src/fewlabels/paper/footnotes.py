"""Notes on the numbers beside the paper's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fewlabels.paper.plan import PaperPlan

_FEWER = "On ImageNet, where a run takes 6 seconds, there are half as many as asked for, unless --all-runs."
OTHER_POOLS = (
    "20 News and DBpedia are not the paper's models (nor, for DBpedia, all of its items), so these rows need not agree."
)
_READ = (
    'As published: "UPrior" has the total weight 1e-6 instead of 2, and the row N was read after N + 10 labels; '
    "with both, the program gives the paper's numbers. UPrior+TS, which the paper does not print, has weight 2."
)
_READ_BINS = (
    'As published: "UPrior" has the total weight 1e-6 instead of 2, and the row N was read after N + 10 labels; '
    "with both, the program gives the paper's numbers. Those of ImageNet are looser: the authors' program makes "
    "50 runs on it and 1,000 on the others, so their standard errors are about 4.5 times ours at 1,000 runs. "
    "UPrior+TS, which the paper does not print, has weight 2."
)
_BINS = (
    "As published: bins by rank, so that equal scores may be split between bins, and the most confident item in the "
    "lowest bin."
)
_TEXT = (
    "As the text says: priors of strength 2 and exactly N labels. The paper's own numbers were made otherwise "
    "(see --as-published), so UPrior in particular must differ from them."
)


def accuracy(plan: PaperPlan) -> tuple[str, ...]:
    """The notes on the classwise accuracy table."""
    late = "SVHN, IPrior at N = 100: we get 4.3 to 4.4 where the paper prints 4.7."
    return (_READ, late, OTHER_POOLS) if plan.as_published else (_TEXT, OTHER_POOLS)


def bins(plan: PaperPlan) -> tuple[str, ...]:
    """The notes on the binwise accuracy table."""
    if not plan.as_published:
        return (_TEXT, "Items of the same confidence share a bin, so the CIFAR-100 pool has nine.", OTHER_POOLS)
    return (
        _READ_BINS,
        _BINS,
        OTHER_POOLS,
    )


def ece(plan: PaperPlan) -> tuple[str, ...]:
    """The notes on the ECE table."""
    if not plan.as_published:
        same = (
            "The ECE is estimated and measured on the same ten bins of equal weight. The paper's true value has twenty "
            "bins of equal width: another quantity."
        )
        return (_TEXT, same, OTHER_POOLS)
    return (
        _READ_BINS,
        _BINS,
        "As published: the true ECE has twenty bins of equal width, the estimate ten of equal weight: two quantities.",
        OTHER_POOLS,
    )


def confusion(plan: PaperPlan) -> tuple[str, ...]:
    """The notes on the confusion table."""
    cannot = (
        "The published numbers cannot be right: the authors' update adds the predicted class and never the true one, "
        "so what is measured is how fast the estimate becomes the identity matrix, and the root is left out."
    )
    pools = (
        "CIFAR-100 is a WideResNet-16-4 here, since the authors' CIFAR-100 scores are not available; 20 News and "
        "DBpedia are not the paper's models either, and DBpedia has no score vectors. ImageNet is not in the paper's "
        "table."
    )
    if plan.as_published:
        weight = (
            "As published: labels show the predicted class, the truth is the identity, no root, UPrior of weight 1e-6, "
            "N + 10 labels, and an informed prior of weight 0.5. That weight is inferred from the printed numbers; "
            "the text says 1. Only SVHN is the paper's own pool."
        )
        return (cannot, weight, pools)
    return (cannot, "Ours is what the text defines: true classes, with the root. It does not match the paper.", pools)


def least_accurate() -> tuple[str, ...]:
    """The notes on the table of least accurate classes."""
    noisy = (
        "percent-to-identify is the paper's statistic: the first label count where the MRR averaged over runs exceeds "
        "min(0.99, 0.99 of its maximum). It is very noisy (SVHN, IPrior+TS: 55 to 96 at 100 runs). The mean MRR at 5, "
        "10, 20 and 50% of the labels is stable; the paper does not print it."
    )
    return (
        noisy,
        "0.0 means that the prior alone names the classes before any label; the first labels may then mislead.",
        "UPrior+TS, which the paper leaves out of its table, beats IPrior+TS on SVHN, whose scores mislead.",
        OTHER_POOLS,
    )


def least_calibrated(plan: PaperPlan) -> tuple[str, ...]:
    """The notes on the table of least calibrated classes."""
    if plan.as_published:
        made = (
            "As published: non-active methods draw a group and then an item, runs end at 90% of the pool (so the MRR "
            "may never come near 1, and 0.99 of its maximum counts), and the MRR is looked at every hundred labels. "
            "The last two are inferred from the printed numbers. How the authors "
            "binned the scores is not known for sure: ten bins of equal width here."
        )
    else:
        made = (
            "Non-active methods draw from all items here, as the text says; the published ones draw a group first and "
            "end at 90% of the pool, so that none of the printed numbers is above 90.3."
        )
    return (made, _FEWER, OTHER_POOLS)


def cost(plan: PaperPlan) -> tuple[str, ...]:
    """The notes on the two cost tables."""
    model = (
        "The pool is a WideResNet-16-4 on CIFAR-100, since the authors' scores for CIFAR-100 are not available: the "
        "order of the methods can be compared with the paper's, the numbers cannot."
    )
    passive = "Non-active methods draw from all items, as the text says; the published ones draw a group first."
    if plan.as_published:
        passive = "As published: non-active methods draw a group and then an item, looked at every hundred labels."
    return (model, passive)


def comparison(plan: PaperPlan) -> tuple[str, ...]:
    """The notes on the comparison table."""
    superclass = (
        "CIFAR-100, Superclass: the published row is meaningless, because the authors' superclass labels are made "
        "from the predictions, so that every prediction is right."
    )
    if plan.as_published:
        superclass += " The same was done here, and even that does not give the printed row."
        never = "As published: a pair that never meets the tolerance counts as one label, so that means are too low."
    else:
        never = (
            "A pair that never meets the tolerance counts with all its labels. The published means count it as one "
            "label, and so are too low. Region probabilities are by quadrature, without Monte Carlo noise."
        )
    return (superclass, never, "Run r is on pair r modulo the number of pairs.", OTHER_POOLS)
