"""The OpenAPI document as a promise: whatever it allows to be sent is answered as it says, and never by a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from fewlabels.web import Settings, create_app
from tests.support.web import Site, bearer, make_site

if TYPE_CHECKING:
    from collections.abc import Callable

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
LIVE = "/live$"  # the stream of events goes on for minutes; test_web_api.py reads it
FEW, MANY = 10, 100  # calls of each operation


@pytest.fixture(scope="module")
def site() -> Site:
    return make_site(name="fuzzed")


def for_each_operation(site: Site, calls: int, check: Callable[[Any], None]) -> int:
    """Run a check on cases of every operation of the document; returns how many operations there were."""
    app = create_app(site.store, Settings(rate=1e6, attempts=10**9))
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app).exclude(path_regex=LIVE)
    operations = [cast("Any", found).ok() for found in schema.get_all_operations()]
    for operation in operations:

        @settings(max_examples=calls, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def run(case: Any) -> None:
            check(case)

        run()
    return len(operations)


@pytest.mark.slow
@pytest.mark.parametrize("calls", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
def test_no_call_breaks_the_server(site: Site, calls: int) -> None:
    codes = set()

    def check(case: Any) -> None:
        # Names at random are nearly never the one there is: half of the calls are given it.
        if "name" in case.path_parameters and len(case.path_parameters["name"]) % 2 == 0:
            case.path_parameters["name"] = "fuzzed"
        answer = case.call(headers=bearer(site.owner))
        codes.add(answer.status_code)
        case.validate_response(answer, checks=CHECKS)

    assert for_each_operation(site, calls, check) >= 18
    assert {200, 201, 404, 422} <= codes  # the calls did reach what they were meant for


@pytest.mark.slow
@pytest.mark.parametrize("calls", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
def test_a_wrong_token_gets_nothing(site: Site, calls: int) -> None:
    before = len(site.store.events("fuzzed"))

    def check(case: Any) -> None:
        assert case.call(headers=bearer("wrong")).status_code in {401, 403}

    assert for_each_operation(site, calls, check) >= 18
    assert len(site.store.events("fuzzed")) == before
