import { paramOf } from "../document/catalog";
import type { Workflow } from "../document/schema";
import { outermost } from "../document/ways";
import { t } from "../i18n";
import { ApiError, rest } from "../transport/rest";
import type { Job } from "../wire/api";
import { setFindings } from "./checks";
import { documentOf } from "./documents";
import { link, recall } from "./link";
import { notify, speak } from "./notices";
import { activeRuns, addRun, type Run, useRuns } from "./runs";
import { catalogNow, refresh } from "./server";
import { stage } from "./stage";

type Seeds = Record<string, Record<string, number>>;

/** The document as it is sent: unlocked seeds take a fresh number, which the document itself does not keep. */
function withSeeds(doc: Workflow): { workflow: Workflow; seeds: Seeds } {
  const seeds: Seeds = {};
  const workflow = structuredClone(doc);
  for (const [nodeId, view] of Object.entries(doc.view?.nodes ?? {})) {
    const node = workflow.graph.nodes[nodeId];
    for (const name of view.random ?? []) {
      if (!node || !paramOf(catalogNow()[node.type], name)) continue;
      const seed = crypto.getRandomValues(new Uint32Array(1))[0] as number;
      node.params = { ...node.params, [name]: seed };
      seeds[nodeId] = { ...seeds[nodeId], [name]: seed };
    }
  }
  return { workflow, seeds };
}

/** Sends the document to the queue; with `targets`, only these nodes and what feeds them. */
export async function run(uid: string, targets: readonly string[] | null = null): Promise<void> {
  const open = documentOf(uid);
  if (!open) return;
  const { workflow, seeds } = withSeeds(open.doc);
  try {
    const { job } = await rest.submit(workflow, targets);
    addRun(job, uid, seeds);
    follow(job);
    speak(t("Run queued"));
    void refresh.jobs();
    void refresh.system();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    refused(uid, error);
  }
}

function follow({ job_id: jobId, rollouts }: Job): void {
  link().subscribe(jobId);
  for (const { node_id: nodeId, keys } of rollouts) if (keys.length) link().steered(jobId, nodeId);
}

function refused(uid: string, error: ApiError): void {
  if (error.diagnostics.length) setFindings(uid, error.diagnostics);
  const first = error.diagnostics.find((finding) => finding.severity === "error");
  notify(first ? first.message : error.message, "error");
  if (first?.node_id) stage()?.reveal([outermost(first.node_id)]);
}

const stopping = new Set<string>();

/** The rollout of a run that is being made now and may end with all it made saved. */
export const stoppable = (run: Run): string | null =>
  run.rollouts.find(({ node_id }) => run.nodes[node_id]?.state === "running")?.node_id ?? null;

/** Ends a run: a rollout first finishes gracefully, saving what was made; asked a second time it is cancelled. */
export function stop(run: Run): void {
  const rollout = stoppable(run);
  if (rollout !== null && !stopping.has(run.jobId)) {
    stopping.add(run.jobId);
    link().control({ jobId: run.jobId, nodeId: rollout, isStop: true });
    speak(t("Stopping; what was made is being saved"));
    return;
  }
  void cancel(run.jobId);
}

export function stopAll(uid: string): void {
  for (const active of activeRuns(useRuns.getState(), uid)) stop(active);
}

export async function cancel(jobId: string): Promise<void> {
  try {
    await rest.cancel(jobId);
    await refresh.jobs();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    notify(error.message, "error");
  }
}

/** Follows jobs again after a reload, the newest last, so that it is the one that shows. */
export async function followAgain(jobs: Readonly<Record<string, readonly string[]>>): Promise<void> {
  for (const [uid, jobIds] of Object.entries(jobs)) {
    for (const jobId of [...jobIds].reverse()) {
      const detail = await recall(jobId, uid);
      if (detail && (detail.job.state === "queued" || detail.job.state === "running")) follow(detail.job);
    }
  }
}
