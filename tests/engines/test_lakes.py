"""Object stores, Delta and Iceberg, with DuckDB's extensions from packages and a store on this machine.

They run where these are installed (for DuckDB 2.0 there are no such packages yet):

    pip install duckdb==1.5.5 duckdb-extensions duckdb-extension-{httpfs,delta,iceberg,avro}
    pip install 'moto[server]' deltalake pyiceberg
"""

from __future__ import annotations

import fnmatch
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import parquet

from fewlabels.engines.files import find_files
from fewlabels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IDS = [f"i{i:03d}" for i in range(300)]
TABLE = pa.table(
    {
        "id": IDS,
        "predicted": [["cat", "dog", "emu"][i % 3] for i in range(300)],
        "confidence": [0.4 + (i * 7 % 60) / 100 for i in range(300)],
        "text": [f"text {i}" for i in range(300)],
    }
)
INSTALL = """
import duckdb, sys
from duckdb_extensions import import_extension
for name in ("httpfs", "avro", "delta", "iceberg"):
    import_extension(name)
duckdb.sql("CREATE PERSISTENT SECRET store (TYPE s3, KEY_ID 'key', SECRET 'secret', REGION 'us-east-1', "
           f"ENDPOINT '{sys.argv[1]}', URL_STYLE 'path', USE_SSL false)")
"""


def run(home: Path, *words: str) -> str:
    """What a Python of its own prints, with its own home: extensions and secrets of DuckDB are kept there."""
    done = subprocess.run(
        [sys.executable, *words], env={**os.environ, "HOME": str(home)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A home with the extensions and the secret of a store, and the store's address."""
    for package in ("duckdb_extensions", "duckdb_extension_httpfs", "deltalake", "pyiceberg"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    server = pytest.importorskip("moto.server", reason="moto is not installed").ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    home = tmp_path_factory.mktemp("home")
    run(home, "-c", INSTALL, f"{host}:{port}")
    yield home, f"http://{host}:{port}"
    server.stop()


def check(home: Path, folder: Path, address: str) -> None:
    """An assessment on the table asks for the items that it asks for where the same rows are in a file."""
    parquet.write_table(TABLE, folder / "plain.parquet")
    asked = []
    for name, source in (("there", address), ("here", f"{folder}/plain*.parquet")):
        database = str(folder / f"{name}.db")
        run(home, "-m", "fewlabels", "new", database, source, "--content", "text", "--seed", "1")
        asked.append(run(home, "-m", "fewlabels", "ask", database, "-n", "7"))
    assert asked[0] == asked[1]
    assert asked[0].count("text ") == 7


@pytest.mark.slow
@pytest.mark.parametrize("source", ["predictions/*.parquet", "predictions", "predictions/one.parquet"])
def test_an_object_store(store: tuple[Path, str], tmp_path: Path, source: str) -> None:
    import boto3

    home, address = store
    s3 = boto3.client(
        "s3", endpoint_url=address, aws_access_key_id="key", aws_secret_access_key="secret", region_name="us-east-1"
    )
    s3.create_bucket(Bucket="models")
    parquet.write_table(TABLE, tmp_path / "one.parquet")
    s3.upload_file(str(tmp_path / "one.parquet"), "models", "predictions/one.parquet")
    check(home, tmp_path, f"s3://models/{source}")


@pytest.mark.slow
@pytest.mark.parametrize("where", ["on disk", "in the store"])
def test_a_delta_table(store: tuple[Path, str], tmp_path: Path, where: str) -> None:
    import boto3
    from deltalake import write_deltalake

    home, address = store
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=address, **keys).create_bucket(Bucket="models")
    table = "s3://models/delta" if where == "in the store" else str(tmp_path / "delta")
    options = {"AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true", "AWS_S3_ALLOW_UNSAFE_RENAME": "true"}
    options |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
    for part in (TABLE.slice(0, 200), TABLE.slice(200)):
        write_deltalake(table, part, mode="append", storage_options=options)
    check(home, tmp_path, table)


@pytest.mark.slow
def test_an_iceberg_table_by_its_metadata(store: tuple[Path, str], tmp_path: Path) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("one", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("ml")
    table = catalog.create_table("ml.predictions", schema=TABLE.schema)
    table.append(TABLE)
    check(store[0], tmp_path, table.metadata_location.removeprefix("file://"))


def test_which_version_of_an_iceberg_table_is_read() -> None:
    def lake(*files: str):
        return lambda pattern: fnmatch.filter(files, pattern)

    first, second = "lake/t/metadata/00009-a.metadata.json", "lake/t/metadata/00010-b.metadata.json"
    hint = "lake/t/metadata/version-hint.text"
    assert find_files("lake/t", lake(first, second, hint)).source == "iceberg_scan('lake/t', allow_moved_paths = true)"
    assert find_files("lake/t/", lake(first)).source == f"iceberg_scan('{first}')"
    assert find_files(second, lake()).source == f"iceberg_scan('{second}')"
    with pytest.raises(InputError, match=rf"2 versions, and only its catalog .* The newest is {second}\."):
        find_files("lake/t", lake(first, second))
