"""Protocol `rushes.v1`: what travels over HTTP and the events WebSocket. Frozen: a change is a `v2/`."""
