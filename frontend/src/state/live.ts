import { create } from "zustand";
import { type KeyMap, IDENTITY, keyMapOf } from "../document/keymap";
import type { Workflow } from "../document/schema";
import { edgesOf } from "../document/schema";
import { documentOf } from "./documents";
import { link } from "./link";
import { activeRuns, type Run, useRuns } from "./runs";

/** The rollout a person steers now, and the keys they hold. */
export interface Drive {
  uid: string;
  jobId: string;
  nodeId: string;
  keyMap: KeyMap;
}

interface Live {
  drive: Drive | null;
  /** Control keys held, by any hand: keyboard or on-screen pad. */
  held: readonly string[];
  /** Sequence number of the last prompt sent, and its text. */
  prompt: { jobId: string; seq: number; text: string } | null;
}

export const useDrive = create<Live>(() => ({ drive: null, held: [], prompt: null }));

/** The rollout of a document that takes keys and is being made now. */
export function steerable(run: Run | null): { jobId: string; nodeId: string; keys: readonly string[] } | null {
  if (!run || run.state !== "running") return null;
  const rollout = run.rollouts.find(({ node_id, keys }) => keys.length > 0 && run.nodes[node_id]?.state === "running");
  return rollout ? { jobId: run.jobId, nodeId: rollout.node_id, keys: rollout.keys } : null;
}

/** The rollout of this document that can be steered now. One object per change, for cheap renders. */
export function useSteerable(uid: string): ReturnType<typeof steerable> {
  const text = useRuns((state) => {
    const found = activeRuns(state, uid).map(steerable).find(Boolean);
    return found ? JSON.stringify(found) : "";
  });
  return text ? (JSON.parse(text) as ReturnType<typeof steerable>) : null;
}

/** Keys that the rollout's action node declares; each stands for itself when there is none. */
export function keyMapFor(doc: Workflow | undefined, rolloutId: string): KeyMap {
  const edge = doc && Object.values(edgesOf(doc)).find(({ to }) => to[0] === rolloutId && to[1] === "actions");
  const text = edge && doc.graph.nodes[edge.from[0]]?.params?.["keymap"];
  return typeof text === "string" ? keyMapOf(text) : IDENTITY;
}

export function arm(uid: string, jobId: string, nodeId: string): void {
  const { drive } = useDrive.getState();
  if (drive?.jobId === jobId && drive.nodeId === nodeId) return;
  release();
  useDrive.setState({ drive: { uid, jobId, nodeId, keyMap: keyMapFor(documentOf(uid)?.doc, nodeId) }, held: [] });
}

export function release(): void {
  hold([]);
  useDrive.setState({ drive: null, held: [] });
}

/** Presses or lifts a control key of the armed rollout. Sends only when the set of held keys changes. */
export function setHeld(key: string, isDown: boolean, at = Date.now()): void {
  const { held } = useDrive.getState();
  const others = held.filter((other) => other !== key);
  hold(isDown ? [...others, key] : others, at);
}

function hold(keys: readonly string[], at = Date.now()): void {
  const { drive, held } = useDrive.getState();
  const isSame = keys.length === held.length && keys.every((key) => held.includes(key));
  if (!drive || isSame) return;
  useDrive.setState({ held: keys });
  if (isRunning(drive.jobId)) link().control({ jobId: drive.jobId, nodeId: drive.nodeId, keys }, at);
}

export const liftAll = (): void => hold([]);

export function sendPrompt(jobId: string, nodeId: string, text: string): void {
  const seq = link().control({ jobId, nodeId, prompt: text });
  useDrive.setState({ prompt: { jobId, seq, text } });
}

const isRunning = (jobId: string): boolean => useRuns.getState().runs[jobId]?.state === "running";

/** Lets go when the steered run ends. */
export function watchDrive(): void {
  useRuns.subscribe(() => {
    const { drive } = useDrive.getState();
    if (drive && !isRunning(drive.jobId)) release();
  });
}
