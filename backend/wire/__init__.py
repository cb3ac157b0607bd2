"""Message models, one folder a protocol version. Imports pydantic and nothing of ours."""
