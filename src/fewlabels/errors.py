"""What can go wrong, in five kinds. Every message says what was done, what is needed, and what to do."""

from __future__ import annotations


class FewlabelsError(Exception):
    """The base of every error that fewlabels raises on purpose."""


class InputError(FewlabelsError, ValueError):
    """A file, frame, array or argument that cannot be used as it is."""


class SpecError(FewlabelsError, ValueError):
    """Parts that do not go together, such as a task with a metric it cannot use."""


class LabelError(FewlabelsError, ValueError):
    """A label that cannot be taken: unknown item, unknown class, or an item nobody asked about."""


class StoreError(FewlabelsError, RuntimeError):
    """The database refuses: unreachable, of another version, or without that assessment."""


class PoolChangedError(StoreError):
    """The pool is not the one the assessment was made with."""


def needs(what: str, package: str, extra: str) -> str:
    """The message where a package of an extra is missing: true for a copy of the source and for an index of packages.

    >>> needs("drawing", "matplotlib", "plots")
    "drawing needs matplotlib, which is not installed. In the project's folder: pip install '.[plots]'; ..."
    """
    return (
        f"{what} needs {package}, which is not installed. In the project's folder: pip install '.[{extra}]'; "
        f"or, where it is published: pip install 'fewlabels[{extra}]'"
    )
