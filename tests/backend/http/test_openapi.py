"""The API describes itself."""

from pathlib import Path

from rushes.backend.http.openapi import openapi_document
from rushes.backend.http.route import find_routes
from tests.backend.serving import serving


def test_every_route_is_described_with_models_that_exist():
    document = openapi_document(find_routes(), "1")
    described = {(path, method) for path, methods in document["paths"].items() for method in methods}
    assert described == {("/api/v1" + route.path, route.method.lower()) for route in find_routes()}
    wanted = {part.split("'")[0] for part in str(document).split("#/components/schemas/")[1:]}
    assert wanted <= set(document["components"]["schemas"])


def test_operations_have_names_of_their_own():
    names = [route.handler.__name__ for route in find_routes()]
    assert len(names) == len(set(names))


async def test_the_description_is_served(tmp_path: Path):
    async with serving(tmp_path) as serve:
        status, document = await serve.get("/openapi.json")
        assert (status, document["openapi"]) == (200, "3.1.0")
