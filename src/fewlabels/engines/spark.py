"""Spark, through Spark Connect: the user's session, or an address such as sc://host:15002."""

from __future__ import annotations

import json
import socket
import sys
import threading
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fewlabels.engines.dialects import table_name, with_bound
from fewlabels.engines.table import RemoteTable, Step
from fewlabels.engines.trouble import sentence_of
from fewlabels.errors import FewlabelsError, InputError, StoreError, needs

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    import pyarrow as pa

_PORT = 15002  # where Spark Connect listens, if the address does not say
_PATIENCE = 10  # seconds to reach the server
_TRIES = 5  # the last of them after 17 seconds


class SparkTable(RemoteTable):
    """A table or view of a Spark session.

    Parameters
    ----------
    table
        The name of the table or view.
    session
        The user's session; it is not stopped.
    url
        The address of a Spark Connect server instead.
    """

    dialect = "spark"

    def __init__(self, table: str, *, session: Any = None, url: str | None = None) -> None:
        self._lock = threading.RLock()
        self._url, self._own = url, session is None
        self.source = table_name(table)
        self.name = f"the table {table}" + (f" of {_shown(url)}" if url is not None else "")
        self._session = _connect(self.name, str(url)) if session is None else session

    def describe(self) -> str:
        where = {} if self._url is None else {"url": _shown(self._url)}
        return json.dumps({"engine": "spark", "table": self.source, **where})

    def close(self) -> None:
        if self._own and self._session is not None:
            self._session.stop()
            self._session = None

    def _ask(self, step: str, text: str, bound: Sequence[str | int] = ()) -> pa.Table:
        if self.progress is not None:
            self.progress(Step(step))
        text = with_bound(text, lambda _: "?")
        with self._lock, _plain_errors(self.name):
            return self._session.sql(text, args=list(bound) or None).toArrow()

    def _sent(self, limits: pa.Table) -> Generator[str]:
        with self._lock:
            with _plain_errors(self.name):
                self._session.createDataFrame(limits).createOrReplaceTempView("fl_limits")
            try:
                yield "fl_limits"
            finally:
                with _plain_errors(self.name):
                    self._session.catalog.dropTempView("fl_limits")


def _connect(name: str, url: str) -> Any:
    """A session of our own. Spark tries for ten minutes to reach a server that is not there; here it is seconds."""
    try:
        with warnings.catch_warnings(), with_main_file():
            warnings.simplefilter("ignore", FutureWarning)  # about versions of pandas, which is not used here
            from pyspark.sql import SparkSession
            from pyspark.sql.connect.client.retries import DefaultPolicy
    except ImportError:
        raise StoreError(needs("a table of Spark", "pyspark-client", "spark")) from None
    with _plain_errors(name):
        place = urlsplit(url)
        socket.create_connection((place.hostname or "localhost", place.port or _PORT), timeout=_PATIENCE).close()
        session = SparkSession.builder.remote(url).create()
        session.client.set_retry_policies([DefaultPolicy(max_retries=_TRIES)])
        return session


@contextmanager
def with_main_file() -> Iterator[None]:
    """Import Spark Connect here: the main module seems to have a file.

    Where it has none, as in `python -c` or a worker of pytest-xdist, PySpark takes the process for its own doctests,
    looks for an installation of Spark, and ends the process because there is none.
    """
    main = sys.modules["__main__"]
    if main.__spec__ is not None or hasattr(main, "__file__"):
        yield
        return
    main.__file__ = "fewlabels"
    try:
        yield
    finally:
        del main.__file__


def _unreachable(name: str, error: Exception) -> StoreError:
    return StoreError(f"{name} cannot be reached: {sentence_of(error)} Check that the server is running.")


@contextmanager
def _plain_errors(name: str) -> Iterator[None]:
    """Turn the errors of Spark and of its transport into ours."""
    try:
        yield
    except FewlabelsError:
        raise
    except OSError as error:
        raise _unreachable(name, error) from error
    except Exception as error:
        package, kind = type(error).__module__.partition(".")[0], type(error).__name__
        if package == "grpc" or ("Connect" in kind and not hasattr(error, "getErrorClass")):
            raise _unreachable(name, error) from error
        if package == "pyspark":
            raise InputError(f"{name} cannot be read: {sentence_of(error)}") from error
        raise


def _shown(url: str) -> str:
    """An address without its token.

    >>> _shown("sc://host:443/;use_ssl=true;token=secret;user_id=me")
    'sc://host:443/;use_ssl=true;user_id=me'
    """
    return ";".join(part for part in url.split(";") if not part.lower().startswith("token="))
