"""How the server is."""

from __future__ import annotations

from ...wire.v1.records import QueueStatus, SystemReply, WorkerStatus
from ..route import Call, Route


async def read_system(call: Call) -> SystemReply:
    dispatcher = call.services.dispatcher
    facts = dispatcher.worker_facts
    states = [job.state for job in dispatcher.live_jobs]
    return SystemReply(
        version=call.services.version,
        worker=WorkerStatus.model_validate(
            {
                "state": dispatcher.worker_state,
                "device": facts.device,
                "device_name": facts.device_name,
                "torch": facts.torch,
                "restart_count": facts.death_count,
            }
        ),
        queue=QueueStatus(
            queued=states.count("queued"),
            running=states.count("running"),
            running_max=dispatcher.limits.running_max,
        ),
        upload_bytes_max=call.services.assets.limits.bytes_max,
    )


ROUTES = (
    Route(
        method="GET",
        path="/system",
        handler=read_system,
        reply=SystemReply,
        summary="Version, worker, queue and bounds.",
    ),
)
