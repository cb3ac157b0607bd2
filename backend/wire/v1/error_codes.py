"""The closed list of codes the server and its hosts use beside the compiler's and the engine's."""

from __future__ import annotations

from collections.abc import Mapping

ERROR_CODES: Mapping[str, str] = {
    "E_INVALID": "A body, query or message has a field that is missing, unknown or of the wrong kind.",
    "E_NOT_FOUND": "There is nothing by that name or id.",
    "E_METHOD": "The path exists, but not for that HTTP method.",
    "E_FORBIDDEN": "The Host or Origin is not one this server answers to.",
    "E_UNAUTHORIZED": "The token is missing or wrong.",
    "E_UPLOAD_TOO_LARGE": "The upload passes the bound on bytes.",
    "E_MEDIA_TYPE": "The file is not a picture or clip of a known format.",
    "E_MEDIA_TOO_LARGE": "The picture or clip passes a bound on pixels, frames or seconds.",
    "E_MEDIA_BROKEN": "The picture or clip is cut short or damaged.",
    "E_ASSET_NAME": "The name of an upload is not a plain file name.",
    "E_JOB_STATE": "The job is not in a state that allows this.",
    "E_VERSION_CONFLICT": "Somebody saved the workflow in between; If-Match names an older version.",
    "E_VERSION_REQUIRED": "A change to a workflow must say in If-Match which version it was made to.",
    "E_QUEUE_FULL": "As many jobs wait as may.",
    "E_DRAINING": "The server is shutting down and takes no new jobs.",
    "E_WORKER_BROKEN": "The computing process cannot be started; see the server's log.",
    "E_CHECKPOINT": "A folder of models on this machine is not what it should be.",
    "E_INTERNAL": "A fault in the server; its log has the details.",
    "E_HELLO_FIRST": "The first message of a connection must be hello, and only the first.",
    "E_CONTROL": "A live control this job cannot take.",
    "E_TOO_SLOW": "The connection fell too far behind and was closed; connect again with since.",
    "E_WORKER_DIED": "The computing process ended while the job ran, too often to try again.",
    "E_SERVER_STOPPED": "The server ended while the job ran, and it is not started again.",
    "E_STORAGE": "A result could not be stored; is the disk full?",
    "E_PROGRAM": "The stored program of a job cannot be read by this version.",
    "E_FILE": "A file named on the command line cannot be read or written.",
    "E_CONNECTION": "The server cannot be reached, or answered something else than Rushes.",
}
