"""A Spark Connect server without Java, and ClickHouse in this process, for the tests that compare engines."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

from fewlabels.engines.spark import with_main_file

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def spark_address() -> Iterator[str]:
    """The address of Sail, which speaks Spark SQL; the tests that need it are skipped if it is not installed."""
    pytest.importorskip("pyspark.sql", reason="pyspark-client is not installed")
    sail = pytest.importorskip("pysail.spark", reason="Sail is not installed")
    server = sail.SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    host, port = server.listening_address
    yield f"sc://{host}:{port}"
    server.stop()


@pytest.fixture(scope="session")
def spark_session(spark_address: str) -> Iterator[Any]:
    """A session of the user's."""
    from pyspark.sql import SparkSession

    with warnings.catch_warnings(), with_main_file():
        warnings.simplefilter("ignore")
        session = SparkSession.builder.remote(spark_address).create()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def clickhouse() -> Iterator[Any]:
    """A connection of ClickHouse's own driver to chDB, the engine of ClickHouse as a library."""
    pytest.importorskip("chdb", reason="chDB is not installed")
    driver = pytest.importorskip("clickhouse_connect.dbapi", reason="clickhouse-connect is not installed")
    with driver.connect(dsn="chdb://memory") as connection:
        yield connection
