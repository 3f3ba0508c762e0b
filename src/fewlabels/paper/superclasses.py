"""The twenty superclasses of CIFAR-100, and the two cost matrices that the paper makes of its classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MEMBERS = {
    "aquatic mammals": "beaver dolphin otter seal whale",
    "fish": "aquarium_fish flatfish ray shark trout",
    "flowers": "orchid poppy rose sunflower tulip",
    "food containers": "bottle bowl can cup plate",
    "fruit and vegetables": "apple mushroom orange pear sweet_pepper",
    "household electrical devices": "clock keyboard lamp telephone television",
    "household furniture": "bed chair couch table wardrobe",
    "insects": "bee beetle butterfly caterpillar cockroach",
    "large carnivores": "bear leopard lion tiger wolf",
    "large man-made outdoor things": "bridge castle house road skyscraper",
    "large natural outdoor scenes": "cloud forest mountain plain sea",
    "large omnivores and herbivores": "camel cattle chimpanzee elephant kangaroo",
    "medium-sized mammals": "fox porcupine possum raccoon skunk",
    "non-insect invertebrates": "crab lobster snail spider worm",
    "people": "baby boy girl man woman",
    "reptiles": "crocodile dinosaur lizard snake turtle",
    "small mammals": "hamster mouse rabbit shrew squirrel",
    "trees": "maple_tree oak_tree palm_tree pine_tree willow_tree",
    "vehicles 1": "bicycle bus motorcycle pickup_truck train",
    "vehicles 2": "lawn_mower rocket streetcar tank tractor",
}

SUPERCLASS = {name: group for group, names in MEMBERS.items() for name in names.split()}
"""The superclass of each of the 100 classes."""


def human_costs(classes: Sequence[str], dear: float = 10.0) -> NDArray[np.float64]:
    """The paper's cost type "Human": `dear` where a person is taken for something else, 1 for other errors.

    Rows are true, columns predicted classes, shape (classes, classes).

    >>> human_costs(["man", "boy", "oak_tree"])
    array([[ 0.,  1., 10.],
           [ 1.,  0., 10.],
           [ 1.,  1.,  0.]])
    """
    person = np.array([SUPERCLASS[name] == "people" for name in classes])
    return _priced(person[:, None] & ~person[None, :], dear)


def superclass_costs(classes: Sequence[str], dear: float = 10.0) -> NDArray[np.float64]:
    """The paper's cost type "Superclass": `dear` for an error across superclasses, 1 within one.

    Rows are true, columns predicted classes, shape (classes, classes).

    >>> superclass_costs(["shark", "trout", "rocket"])
    array([[ 0.,  1., 10.],
           [ 1.,  0., 10.],
           [10., 10.,  0.]])
    """
    group = np.array([SUPERCLASS[name] for name in classes])
    return _priced(group[:, None] != group[None, :], dear)


def _priced(is_dear: NDArray[np.bool_], dear: float) -> NDArray[np.float64]:
    costs = np.where(is_dear, dear, 1.0)
    np.fill_diagonal(costs, 0.0)
    return costs
