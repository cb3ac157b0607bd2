"""Device processes: spawn, message channel, death watch, restart. Never imports torch."""
