import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { outermost } from "../src/document/ways";
import { addRun, adoptSnapshot, latestRun, nodeIn, noteStream, shownRun, takeEvent, useRuns } from "../src/state/runs";
import type { Job, JobProgress } from "../src/wire/api";

const job = (job_id: string, more: Partial<Job> = {}): Job => ({
  job_id,
  state: "queued",
  title: "Test",
  targets: null,
  outputs: [],
  rollouts: [],
  spec_hash: "0",
  position: 0,
  attempt: 1,
  created_at: 0,
  started_at: null,
  finished_at: null,
  error: null,
  ...more,
});

const progress = (job_id: string, node_id: string, step: number): JobProgress => ({
  seq: step,
  type: "job.progress",
  job_id,
  node_id,
  step,
  step_count: 50,
  chunk_index: 0,
  chunk_count: 1,
});

const run = (jobId: string) => useRuns.getState().runs[jobId] ?? null;
const started = (job_id: string, node_id: string) => takeEvent({ seq: 0, type: "node.started", job_id, node_id });

beforeEach(() => {
  vi.useFakeTimers();
  useRuns.setState({ runs: {}, byDocument: {}, shown: {}, takes: {} });
});
afterEach(() => vi.useRealTimers());

describe("runs", () => {
  it("write progress ten times a second at most, and the newest counts", () => {
    addRun(job("j1"), "d");
    started("j1", "m");
    let writes = 0;
    const stop = useRuns.subscribe(() => (writes += 1));
    for (let step = 1; step <= 40; step += 1) takeEvent(progress("j1", "m", step));
    expect(writes).toBe(0);
    vi.advanceTimersByTime(100);
    expect(writes).toBe(1);
    expect(run("j1")?.nodes["m"]?.step).toBe(40);
    stop();
  });

  it("an end is written at once, after the progress before it", () => {
    addRun(job("j1"), "d");
    takeEvent(progress("j1", "m", 3));
    takeEvent({ seq: 9, type: "job.failed", job_id: "j1", code: "E_NAN", message: "the picture is not a number", node_id: "m" });
    expect(run("j1")).toMatchObject({ state: "failed", error: { node_id: "m" } });
    expect(run("j1")?.nodes["m"]).toMatchObject({ state: "failed", step: 3, error: { code: "E_NAN" } });
  });

  it("a node shows the newest run that reached it, and late events of an older one change nothing there", () => {
    addRun(job("j1"), "d");
    started("j1", "m");
    addRun(job("j2"), "d");
    expect(shownRun(useRuns.getState(), "d", "m")?.jobId).toBe("j1");
    started("j2", "m");
    takeEvent({ seq: 1, type: "node.finished", job_id: "j1", node_id: "m", seconds: 1, is_cached: false });
    expect(shownRun(useRuns.getState(), "d", "m")?.jobId).toBe("j2");
    expect(latestRun(useRuns.getState(), "d")?.jobId).toBe("j2");
    expect(useRuns.getState().takes["d"]?.["m"]).toBe(2);
  });

  it("a new run wipes the marks of failures and keeps the pictures", () => {
    addRun(job("j1"), "d");
    noteStream("j1", "good", false);
    takeEvent({ seq: 1, type: "node.failed", job_id: "j1", node_id: "bad", code: "E", message: "no" });
    addRun(job("j2"), "d");
    expect(shownRun(useRuns.getState(), "d", "bad")).toBeNull();
    expect(shownRun(useRuns.getState(), "d", "good")?.jobId).toBe("j1");
  });

  it("are filled from a snapshot after a reload", () => {
    const node = { step: 2, step_count: 4, chunk_index: null, chunk_count: null, seconds: null, is_cached: false };
    adoptSnapshot({ job: job("j9", { state: "running" }), nodes: [{ node_id: "m", state: "running", ...node }], artifacts: [] }, "d");
    expect(shownRun(useRuns.getState(), "d", "m")?.nodes["m"]).toMatchObject({ state: "running", step: 2 });
  });

  it("events of a stranger's job touch no document", () => {
    started("unknown", "m");
    expect(useRuns.getState().runs).toEqual({});
    expect(useRuns.getState().shown).toEqual({});
  });

  it("a subgraph stands as the node inside it that matters most", () => {
    addRun(job("j1"), "d");
    started("j1", "look/a");
    takeEvent({ seq: 1, type: "node.finished", job_id: "j1", node_id: "look/a", seconds: 1, is_cached: false });
    started("j1", "look/b");
    expect(nodeIn(run("j1"), "look")?.state).toBe("running");
    expect(nodeIn(run("j1"), "loo")).toBeNull();
    expect(shownRun(useRuns.getState(), "d", outermost("look/b"))?.jobId).toBe("j1");
  });
});
