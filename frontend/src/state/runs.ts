import { create } from "zustand";
import type { LiveStats, QuietEvent } from "../transport/messages";
import { isWithin, outermost } from "../document/ways";
import type { Artifact, Job, JobError, JobProgress, JobRollout, JobSnapshot, NodeProgress } from "../wire/api";

export interface NodeRun {
  state: "running" | "finished" | "failed";
  step: number | null;
  stepCount: number | null;
  chunkIndex: number | null;
  chunkCount: number | null;
  seconds: number | null;
  isCached: boolean;
  error: { code: string; message: string } | null;
  /** Pictures of this node have arrived in the worker. */
  hasStream: boolean;
  isRollout: boolean;
  startedAt: number;
}

/** A job as the page follows it. `uid` names the document it was started from; null for a stranger's. */
export interface Run {
  jobId: string;
  uid: string | null;
  state: Job["state"];
  title: string | null;
  position: number | null;
  targets: readonly string[] | null;
  rollouts: readonly JobRollout[];
  nodes: Readonly<Record<string, NodeRun>>;
  artifacts: Readonly<Record<string, readonly Artifact[]>>;
  error: JobError | null;
  createdAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  /** Seeds drawn for this run, by node and param. */
  seeds: Readonly<Record<string, Readonly<Record<string, number>>>>;
  promptsApplied: number;
}

interface Runs {
  runs: Readonly<Record<string, Run>>;
  /** Newest run first, by document. */
  byDocument: Readonly<Record<string, readonly string[]>>;
  /** The run whose pictures and state a node shows: document -> node -> job. */
  shown: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** How often a node ran in this session: document -> node -> count. */
  takes: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const PROGRESS_PAUSE_MS = 100;
const RUNS_KEPT = 12;

export const useRuns = create<Runs>(() => ({ runs: {}, byDocument: {}, shown: {}, takes: {} }));
export const useLive = create<{ stats: Readonly<Record<string, LiveStats>> }>(() => ({ stats: {} }));

const FRESH_NODE: NodeRun = {
  state: "running",
  step: null,
  stepCount: null,
  chunkIndex: null,
  chunkCount: null,
  seconds: null,
  isCached: false,
  error: null,
  hasStream: false,
  isRollout: false,
  startedAt: 0,
};

export const isActive = (run: Run): boolean => run.state === "queued" || run.state === "running";

export function latestRun(state: Runs, uid: string): Run | null {
  const jobId = state.byDocument[uid]?.[0];
  return jobId === undefined ? null : (state.runs[jobId] ?? null);
}

export const activeRuns = (state: Runs, uid: string): Run[] =>
  (state.byDocument[uid] ?? []).map((jobId) => state.runs[jobId]).filter((run): run is Run => !!run && isActive(run));

/** How a node stands in a run. A subgraph stands as the node inside it that matters most: one at work, one that failed,
 * else the last. */
export function nodeIn(run: Run | null, nodeId: string): NodeRun | null {
  if (!run) return null;
  const own = run.nodes[nodeId];
  if (own) return own;
  const within = Object.entries(run.nodes).flatMap(([way, node]) => (isWithin(way, nodeId) ? [node] : []));
  return within.find(({ state }) => state === "running") ?? within.find(({ error }) => error) ?? within.at(-1) ?? null;
}

export function shownRun(state: Runs, uid: string, nodeId: string): Run | null {
  const jobId = state.shown[uid]?.[nodeId];
  return jobId === undefined ? null : (state.runs[jobId] ?? null);
}

export function addRun(job: Job, uid: string | null, seeds: Run["seeds"] = {}): void {
  const run: Run = {
    jobId: job.job_id,
    uid,
    state: job.state,
    title: job.title,
    position: job.position,
    targets: job.targets,
    rollouts: job.rollouts,
    nodes: {},
    artifacts: {},
    error: job.error,
    createdAt: job.created_at * 1000,
    startedAt: job.started_at === null ? null : job.started_at * 1000,
    finishedAt: job.finished_at === null ? null : job.finished_at * 1000,
    seeds,
    promptsApplied: 0,
  };
  useRuns.setState((state) => {
    const runs = { ...state.runs, [run.jobId]: run };
    if (uid === null) return { runs };
    const all = [run.jobId, ...(state.byDocument[uid] ?? []).filter((id) => id !== run.jobId)];
    const kept = all.slice(0, RUNS_KEPT);
    for (const old of all.slice(RUNS_KEPT)) delete runs[old];
    return {
      runs,
      byDocument: { ...state.byDocument, [uid]: kept },
      shown: { ...state.shown, [uid]: withoutFailed(state, uid) },
    };
  });
}

/** A new run starts with a clean slate: marks of failures go, pictures stay until new ones come. */
function withoutFailed(state: Runs, uid: string): Record<string, string> {
  const entries = Object.entries(state.shown[uid] ?? {});
  return Object.fromEntries(entries.filter(([nodeId, jobId]) => !state.runs[jobId]?.nodes[nodeId]?.error));
}

export const dropRun = (jobId: string): void =>
  useRuns.setState((state) => {
    const { [jobId]: dropped, ...runs } = state.runs;
    const uid = dropped?.uid;
    if (uid === null || uid === undefined) return { runs };
    const kept = (state.byDocument[uid] ?? []).filter((id) => id !== jobId);
    return { runs, byDocument: { ...state.byDocument, [uid]: kept } };
  });

/** Fills a run from the server's snapshot, as after a reload or a broken connection. */
export function adoptSnapshot({ job, nodes, artifacts }: JobSnapshot, uid: string | null): void {
  if (!useRuns.getState().runs[job.job_id]) addRun(job, uid);
  patchRun(job.job_id, (run) => ({
    ...run,
    state: job.state,
    position: job.position,
    error: job.error,
    startedAt: job.started_at === null ? null : job.started_at * 1000,
    finishedAt: job.finished_at === null ? null : job.finished_at * 1000,
    nodes: Object.fromEntries(nodes.map((node) => [node.node_id, fromProgress(node, run.nodes[node.node_id], job.error)])),
    artifacts: byNode(artifacts),
  }));
  for (const { node_id: nodeId } of [...nodes, ...artifacts]) show(job.job_id, nodeId);
}

const fromProgress = (node: NodeProgress, known: NodeRun | undefined, error: JobError | null): NodeRun => ({
  ...(known ?? { ...FRESH_NODE, startedAt: Date.now() }),
  state: node.state,
  step: node.step,
  stepCount: node.step_count,
  chunkIndex: node.chunk_index,
  chunkCount: node.chunk_count,
  seconds: node.seconds,
  isCached: node.is_cached,
  error: node.state === "failed" ? (error ?? { code: "E_FAILED", message: "this node failed" }) : null,
});

function byNode(artifacts: readonly Artifact[]): Record<string, Artifact[]> {
  const found: Record<string, Artifact[]> = {};
  for (const artifact of artifacts) (found[artifact.node_id] ??= []).push(artifact);
  return found;
}

const waiting = new Map<string, JobProgress>();
let timer: ReturnType<typeof setTimeout> | null = null;

/** Takes one event in. Progress is gathered and written at most ten times a second; the rest at once. */
export function takeEvent(event: QuietEvent): void {
  if (event.type === "job.progress") {
    waiting.set(`${event.job_id}/${event.node_id}`, event);
    timer ??= setTimeout(flush, PROGRESS_PAUSE_MS);
    return;
  }
  flush();
  applyEvent(event);
}

function flush(): void {
  if (timer !== null) clearTimeout(timer);
  timer = null;
  const events = [...waiting.values()];
  waiting.clear();
  for (const event of events) {
    patchNode(event.job_id, event.node_id, (node) => ({
      ...node,
      state: "running",
      step: event.step,
      stepCount: event.step_count,
      chunkIndex: event.chunk_index,
      chunkCount: event.chunk_count,
    }));
  }
}

function applyEvent(event: Exclude<QuietEvent, JobProgress>): void {
  switch (event.type) {
    case "job.queued":
      return patchRun(event.job_id, (run) => ({ ...run, state: "queued", position: event.position }));
    case "job.started":
      return patchRun(event.job_id, (run) => ({ ...run, state: "running", position: null, startedAt: Date.now() }));
    case "node.started":
      if (!useRuns.getState().runs[event.job_id]?.nodes[event.node_id]) countTake(event.job_id, event.node_id);
      return patchNode(event.job_id, event.node_id, (node) => ({ ...node, state: "running", error: null }));
    case "node.finished":
      return patchNode(event.job_id, event.node_id, (node) => ({
        ...node,
        state: "finished",
        seconds: event.seconds,
        isCached: event.is_cached,
      }));
    case "node.failed":
      return patchNode(event.job_id, event.node_id, (node) => ({
        ...node,
        state: "failed",
        error: { code: event.code, message: event.message },
      }));
    case "artifact.created":
      patchRun(event.job_id, (run) => ({
        ...run,
        artifacts: { ...run.artifacts, [event.node_id]: [...(run.artifacts[event.node_id] ?? []), event] },
      }));
      return show(event.job_id, event.node_id);
    case "control.applied":
      return patchRun(event.job_id, (run) => ({ ...run, promptsApplied: Math.max(run.promptsApplied, event.control_seq) }));
    case "job.completed":
      return end(event.job_id, "completed", null);
    case "job.cancelled":
      return end(event.job_id, "cancelled", null);
    case "job.failed":
      return fail(event.job_id, event);
    case "worker.ready":
    case "worker.died":
    case "worker.broken":
      return;
  }
}

function end(jobId: string, state: Job["state"], error: JobError | null): void {
  patchRun(jobId, (run) => ({
    ...run,
    state,
    error,
    finishedAt: Date.now(),
    position: null,
    nodes: Object.fromEntries(
      Object.entries(run.nodes).map(([id, node]) => [id, node.state === "running" ? { ...node, state: "finished" } : node]),
    ),
  }));
}

function fail(jobId: string, { code, message, node_id }: JobError): void {
  if (node_id !== null) patchNode(jobId, node_id, (node) => ({ ...node, state: "failed", error: { code, message } }));
  end(jobId, "failed", { code, message, node_id });
}

function patchRun(jobId: string, change: (run: Run) => Run): void {
  useRuns.setState((state) => {
    const run = state.runs[jobId];
    return run ? { runs: { ...state.runs, [jobId]: change(run) } } : state;
  });
}

function patchNode(jobId: string, nodeId: string, change: (node: NodeRun) => NodeRun): void {
  patchRun(jobId, (run) => {
    const node = run.nodes[nodeId] ?? { ...FRESH_NODE, startedAt: Date.now() };
    return { ...run, nodes: { ...run.nodes, [nodeId]: change(node) } };
  });
  show(jobId, nodeId);
}

/** From now on the node shows this run, unless a newer one has already reached it. */
function show(jobId: string, nodeId: string): void {
  if (outermost(nodeId) !== nodeId) show(jobId, outermost(nodeId));
  useRuns.setState((state) => {
    const uid = state.runs[jobId]?.uid;
    if (uid === null || uid === undefined || state.shown[uid]?.[nodeId] === jobId) return state;
    const order = state.byDocument[uid] ?? [];
    const current = state.shown[uid]?.[nodeId];
    if (current !== undefined && order.includes(current) && order.indexOf(current) < order.indexOf(jobId)) return state;
    return { shown: { ...state.shown, [uid]: { ...state.shown[uid], [nodeId]: jobId } } };
  });
}

function countTake(jobId: string, nodeId: string): void {
  useRuns.setState((state) => {
    const uid = state.runs[jobId]?.uid;
    if (uid === null || uid === undefined) return state;
    const takes = state.takes[uid] ?? {};
    return { takes: { ...state.takes, [uid]: { ...takes, [nodeId]: (takes[nodeId] ?? 0) + 1 } } };
  });
}

export function noteStream(jobId: string, nodeId: string, isRollout: boolean): void {
  patchNode(jobId, nodeId, (node) => ({ ...node, hasStream: true, isRollout }));
}

export const noteLive = (stats: LiveStats): void =>
  useLive.setState((state) => ({ stats: { ...state.stats, [`${stats.jobId}/${stats.nodeId}`]: stats } }));
