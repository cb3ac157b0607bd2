"""The HTTP host: a resource a file under `resources/`, found by listing."""
