"""Beginning an assessment, and continuing one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fewlabels.assessment import Assessment
from fewlabels.checks import of_kind
from fewlabels.errors import PoolChangedError, StoreError
from fewlabels.io.labels import checked, labelled_rows
from fewlabels.labelling.journal import Journal
from fewlabels.labelling.subject import Subject
from fewlabels.metrics import Accuracy
from fewlabels.named import check_groups, groups_from, policy_from, prior_from
from fewlabels.partition import Partition, by_predicted, of_pool, whole
from fewlabels.policies import Policy, default_policy
from fewlabels.policies.anchors import default_anchor, default_strips
from fewlabels.pool import Pool
from fewlabels.spec import Spec, check_saved
from fewlabels.stopping import Stop
from fewlabels.store import Definition, GoneError, Store, check_new_name
from fewlabels.store.rows import meant
from fewlabels.tasks import Estimate, Task
from fewlabels.wording import some_of

if TYPE_CHECKING:
    import os

    from fewlabels.belief import Target
    from fewlabels.io.labels import Labels
    from fewlabels.priors import Prior


def create(
    address: str | os.PathLike[str] | Store | None,
    name: str,
    pool: Pool,
    groups: Partition | str | None = None,
    *,
    task: Task | None = None,
    prior: Prior | str | None = None,
    policy: Policy | str | None = None,
    target: Target = "population",
    seed: int = 0,
    stop: Stop | None = None,
    overlap: int = 1,
    anchor: float | None = None,
    model: str | None = None,
    noisy: bool = False,
    labels_right: float | None = None,
    gold: Labels | None = None,
    gold_rate: float = 0.1,
) -> Assessment:
    """Begin an assessment.

    Parameters
    ----------
    address
        Where the log is kept: None for memory only, `"sqlite:///audit.db"` or a path for a file, `"postgresql://..."`
        for a team; or an open `Store`, which stays open when the assessment is closed.
    name
        The name of the assessment in that database.
    pool
        The items and predictions, from `read_pool`. A copy is kept in the database.
    groups
        The partition, or its name on the command line, such as "column:sex"; by predicted class if not given, or one
        group of all items for a task about several models.
    task
        The question; `Estimate(Accuracy())` if not given.
    prior
        `Learned()` if not given: it learns from the labels how far the classifier's scores can be trusted. With
        `Uniform()`, each group is judged by its own labels, and averages over many groups with few labels are pulled
        towards one half. Its name on the command line works too, such as "informed:10".
    policy
        If not given, `Boundary()` to find groups with `Learned()`, `Neyman()` for one number over all items, else
        `Thompson()`; see `default_policy`. A name works here too, such as "thompson".
    target
        "population" for the classifier on items like these, "pool" for exactly these items.
    seed
        The same seed and the same labels give the same requests.
    stop
        The stopping rules, such as `Stop(labels=500, probability=0.95)`; none if not given. `standing()` shows the
        progress. `ask` still hands out items after a rule is met.
    overlap
        How many different people are asked about each item.
    anchor
        The share of steps that take items at random from the whole pool, whatever the policy says, so that numbers over
        all items can be trusted. If neither this nor a policy is given, it is a tenth to find groups, and a fifth to
        estimate all of them (four fifths if there are more than thirty); see `policies.anchors`. It is 0 if a policy is
        given, and for several models, where anchors show how often each is right.
    model
        The model that the question is about, if the pool has several and the task is about one. The labels serve the
        others too: `audit.estimates(model="old")`.
    noisy
        Whether labels may be wrong. How often each person is right is then learned from items with several votes and
        from gold items, every number allows for it, and a second person is asked about an item where that is worth more
        than a new item.
    labels_right
        How often labels are right, such as 0.97, if you know it; it counts until votes say more. It implies `noisy`.
    gold
        Labels that you are sure of, as `tell` takes them. These items are mixed in among the others, and people's
        answers to them show how often people are right. They do not count for the classifier unless the assessment also
        draws them. It implies `noisy`.
    gold_rate
        The share of requests that hand out a gold item.

    Examples
    --------
    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> audit = fl.create(None, "pets", pool)
    >>> audit.tell({item: "cat" for item in audit.ask(2).ids})
    2
    """
    name = check_new_name(name)  # before anything is opened: a refusal must not leave an empty database behind
    of_kind(pool, Pool, "The 'pool' of create()")
    task, prior, policy = task or Estimate(Accuracy()), prior_from(prior), policy_from(policy)
    own = pool if model is None else pool.of(model)
    if groups is None:  # what is no task is refused below
        groups = whole(own) if isinstance(task, Task) and task.of_models else by_predicted(own)
    groups = check_groups(of_pool(groups_from(groups, own), own))
    spec = Spec(
        task=task,
        groups=groups.recipe,
        prior=prior,
        policy=policy or default_policy(task, prior),
        target=target,
        seed=seed,
        stop=stop or Stop(),
        overlap=overlap,
        anchor=anchor or 0.0,
        model=model,
        noisy=bool(noisy) or labels_right is not None or gold is not None,
        labels_right=labels_right,
        gold=None if gold is None else dict(checked(labelled_rows(gold), pool)),
        gold_rate=gold_rate,
    )
    own = spec.of(pool)
    cells = spec.cells(own, groups)
    task.check_new(cells)
    if policy is None and not task.of_models:
        spec = spec.in_strips(default_strips(task, prior, cells))
        asking = spec.cells(own, spec.asking(own, groups))
        share = default_anchor(task, prior, spec.policy, asking) if anchor is None else spec.anchor
        spec = replace(spec, anchor=share)
    check_saved(spec)
    store = address if isinstance(address, Store) else Store(address)
    record = store.create(name, spec.to_json(), pool)
    if pool.reserve is not None:
        # Another assessment of the same table may have named more items: positions are those of the stored pool.
        pool = _linked(store.pool(pool.fingerprint), pool)
        groups = None
    return Assessment(Journal(store, Subject(store, record, spec, pool, groups)), shared=store is address)


def _linked(stored: Pool, given: Pool) -> Pool:
    """A stored pool with the open table of one that was read."""
    if stored.reserve is None or given.reserve is None:
        return stored
    return replace(stored, reserve=replace(stored.reserve, link=given.reserve.link))


def load(address: str | os.PathLike[str] | Store, name: str | None = None, *, pool: Pool | None = None) -> Assessment:
    """Continue an assessment: the next request is the same as if it had never been closed.

    The name can be left out if the database has only one assessment. The database has a copy of the pool. If you also
    give `pool`, it must be the same one: otherwise the labels would be read against other predictions. A changed pool
    is a PoolChangedError that says what changed.

    Examples
    --------
    >>> import fewlabels as fl, tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name) / "audit.db"
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> fl.create(file, "pets", pool).close()
    >>> audit = fl.load(file)
    >>> len(audit.ask(2))
    2
    >>> audit.close(); folder.cleanup()
    """
    if pool is not None:
        of_kind(pool, Pool, "The 'pool' of load()")
    # A mistyped path must not look like an empty database.
    store = address if isinstance(address, Store) else Store(address, existing=True)
    name = _only(store) if name is None else name
    record = _opened(store, name)
    stored = store.pool(record.fingerprint)
    if pool is not None and pool.fingerprint != stored.fingerprint:
        raise PoolChangedError(
            f"the pool (from {pool.source}) is not the one that {name!r} was made with (from {stored.source}): "
            f"{stored.differences(pool)}. Its labels are about the old predictions. "
            "Create a new assessment for the new pool, or load without pool= to continue with the old one."
        )
    if pool is not None:
        stored = _linked(stored, pool)
    subject = Subject(store, record, Spec.from_json(record.spec), stored)
    return Assessment(Journal(store, subject), shared=store is address)


def _opened(store: Store, name: str) -> Definition:
    try:
        return store.open(name)
    except GoneError:
        like = meant(name, store.names())
        if like is None:
            raise
        return store.open(like)


def _only(store: Store) -> str:
    """The name of the only assessment in a store."""
    names = store.names()
    if len(names) == 1:
        return names[0]
    if not names:
        raise StoreError("the database has no assessment. Begin one with create().")
    raise StoreError(f"the database has {len(names):,} assessments: {some_of(names)}. Name one of them.")
