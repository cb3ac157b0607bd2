"""Every word a person reads: names in ComfyUI's menu, tooltips of what is not in the catalog, messages."""

from __future__ import annotations

MENU = "Rushes"
START_COMMAND = "rushes serve"
DOCUMENT_TITLE = "From ComfyUI"


def display_name(title: str) -> str:
    """A node's name in search and on its head: ComfyUI has a "Load Video" of its own."""
    return f"Rushes {title}"


RENDER_VIDEO = "Render to VIDEO"
RENDER_VIDEO_DOC = "Run everything up to here on the Rushes server and hand the clip on to other nodes."
RENDER_IMAGE = "Render to IMAGE"
RENDER_IMAGE_DOC = "Run everything up to here on the Rushes server and hand the frames on to other nodes."
RENDER_INPUT_DOC = "What to make."
RENDER_QUALITY_DOC = "Quality of the clip's file: 0 loses nothing, 51 is worst."
VIDEO_OUT_DOC = "The clip, for nodes of other packs."
IMAGE_OUT_DOC = "The frames, for nodes of other packs."
FPS_OUT_DOC = "Frames per second; 0 for a picture."
COUNT_OUT_DOC = "How many frames."


def tooltip(doc: str, unit: str | None) -> str:
    return doc if unit is None else f"{doc} ({unit})"


def where(title: str, param: str | None) -> str:
    return title if param is None else f"{title}, {param}"


# ---- the server ----


def unreachable(url: str, settings_path: str) -> str:
    return (
        f"No Rushes server answers at {url}. Start one with\n\n    {START_COMMAND}\n\n"
        f'and queue again. Another address goes into {settings_path}, as {{"url": "http://HOST:8190"}}.'
    )


def lost(url: str) -> str:
    return (
        f"The Rushes server at {url} stopped answering while it was at work. Start it again with\n\n"
        f"    {START_COMMAND}\n\n(it goes on with what it had begun) and queue again."
    )


def token_refused(url: str, settings_path: str) -> str:
    return (
        f"The Rushes server at {url} refuses the token. Put the one it was started with into "
        f'{settings_path}, as {{"token": "..."}}.'
    )


def not_rushes(url: str, status: int) -> str:
    return f"Something answers at {url}, but not as a Rushes server does (status {status})."


def refused(message: str, expected: str | None, given: str | None) -> str:
    details = [f"expected {expected}" if expected else "", f"got {given}" if given else ""]
    told = ", ".join(detail for detail in details if detail)
    return f"The Rushes server refused: {message}" + (f" ({told})" if told else "")


def invalid(findings: list[str]) -> str:
    return "Rushes cannot run this:\n" + "\n".join(f"- {finding}" for finding in findings)


def finding(place: str, message: str, suggestion: str | None) -> str:
    return f"{place}: {message}" + ("" if suggestion is None else f". Try {suggestion}")


def failed(place: str | None, message: str) -> str:
    return f"Rushes failed: {message}" if place is None else f"Rushes failed at {place}: {message}"


def cancelled() -> str:
    return "The job was cancelled at the Rushes server."


def forgotten(url: str) -> str:
    return f"The Rushes server at {url} was started again and no longer knows this job. Queue again."


def worker_broken(message: str) -> str:
    return f"The Rushes server cannot compute: {message}"


def endless() -> str:
    return (
        "This rollout has no end, and ComfyUI waits for the end. Set its chunk_count above 0, or run it in "
        "Rushes' own editor."
    )


def nothing_made(title: str) -> str:
    return f"Rushes finished without a file of {title}."


# ---- settings ----


def settings_broken(path: str, why: str) -> str:
    return f'{path} cannot be used: {why}. Write {{"url": "http://127.0.0.1:8190", "token": "..."}}.'


# ---- what comes in ----


def wrong_wire(socket: str, expected: str, given: str) -> str:
    return f"{socket}: {expected} was expected, got {given}"


def one_picture(socket: str, count: int) -> str:
    return (
        f"{socket}: one picture was expected, got a batch of {count}. Make it a clip with Create Video, "
        f"which knows the frame rate, and connect that."
    )


def missing_input(socket: str) -> str:
    return f"{socket} must be connected"


def mask_moves(socket: str) -> str:
    return (
        f"{socket}: a mask that differs from frame to frame cannot be brought in yet. Choose frames with a "
        f"Rushes Temporal mask and join it with a mask that stands still (Rushes Combine masks)."
    )


def mask_empty(socket: str) -> str:
    return f"{socket}: the mask is 0 everywhere, so nothing would be made anew"


def mask_in_pieces(socket: str, count: int, most: int) -> str:
    return (
        f"{socket}: a mask from another pack comes in as outlines, at most {most} of them; this one has "
        f"{count} pieces and holes. Fill or erase the specks."
    )


def file_gone(name: str) -> str:
    return f"{name}, from another node, is no longer in ComfyUI's temp folder. Run that node again."
