"""The life of a job: durable queue, dispatch to the worker, the event stream; and saved workflows."""
