import { Link } from "../transport/link";
import type { FromWorker } from "../transport/messages";
import { recheckAll } from "./checks";
import { notify } from "./notices";
import { ApiError, rest } from "../transport/rest";
import type { Hello, JobDetailReply } from "../wire/api";
import { adoptSnapshot, dropRun, isActive, noteLive, noteStream, takeEvent, useRuns } from "./runs";
import { refresh, refreshAll, setLink } from "./server";

let made: Link | null = null;

/** The page's one connection to the server. */
export function link(): Link {
  if (!made) {
    made = new Link(receive);
    forgetUnseen(made);
  }
  return made;
}

/** Pictures of a run that no node shows any more are given back. */
function forgetUnseen(to: Link): void {
  const forgotten = new Set<string>();
  useRuns.subscribe((state, before) => {
    if (state.shown === before.shown) return;
    const seen = new Set(Object.values(state.shown).flatMap((nodes) => Object.values(nodes)));
    for (const nodes of Object.values(before.shown)) {
      for (const jobId of Object.values(nodes)) {
        const run = state.runs[jobId];
        if (seen.has(jobId) || forgotten.has(jobId) || (run && isActive(run))) continue;
        forgotten.add(jobId);
        to.forget(jobId);
      }
    }
  });
}

function receive(message: Exclude<FromWorker, { op: "drawn" }>): void {
  switch (message.op) {
    case "link":
      return setLink(message.state);
    case "hello":
      void catchUp(message.hello);
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

/** After a break: jobs still going come with the hello, those that ended meanwhile are asked for. */
async function catchUp({ jobs }: Hello): Promise<void> {
  const { runs } = useRuns.getState();
  for (const snapshot of jobs) {
    const known = runs[snapshot.job.job_id];
    if (known) adoptSnapshot(snapshot, known.uid);
  }
  const going = new Set(jobs.map(({ job }) => job.job_id));
  for (const run of Object.values(runs)) {
    if (isActive(run) && !going.has(run.jobId)) await recall(run.jobId, run.uid);
  }
}

/** Fills a run from what the server remembers of it. A job it has forgotten is dropped. */
export async function recall(jobId: string, uid: string | null): Promise<JobDetailReply | null> {
  try {
    const detail = await rest.job(jobId);
    adoptSnapshot(detail, uid);
    return detail;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404) dropRun(jobId);
    return null;
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
