import { Link } from "../transport/link";
import type { FromWorker } from "../transport/messages";
import { recheckAll } from "./checks";
import { notify } from "./notices";
import { adoptSnapshot, noteLive, noteStream, takeEvent, useRuns } from "./runs";
import { refresh, refreshAll, setLink } from "./server";

let made: Link | null = null;

/** The page's one connection to the server. */
export function link(): Link {
  made ??= new Link(receive);
  return made;
}

function receive(message: Exclude<FromWorker, { op: "drawn" }>): void {
  switch (message.op) {
    case "link":
      return setLink(message.state);
    case "hello":
      for (const snapshot of message.hello.jobs) {
        const known = useRuns.getState().runs[snapshot.job.job_id];
        if (known) adoptSnapshot(snapshot, known.uid);
      }
      void refreshAll().then(recheckAll);
      return;
    case "refused":
      return notify(message.error.message, "error");
    case "stream":
      return noteStream(message.jobId, message.nodeId, message.isRollout);
    case "live":
      return noteLive(message.stats);
    case "event":
      takeEvent(message.event);
      if (message.event.type.startsWith("job.") && message.event.type !== "job.progress") void refresh.jobs();
      if (message.event.type.startsWith("worker.") || message.event.type.startsWith("job.")) planSystem();
  }
}

const SYSTEM_PAUSE_MS = 300;
let timer: ReturnType<typeof setTimeout> | null = null;

function planSystem(): void {
  timer ??= setTimeout(() => {
    timer = null;
    void refresh.system();
  }, SYSTEM_PAUSE_MS);
}
