"""The events WebSocket: subscriptions, resume, back-pressure, live control."""
