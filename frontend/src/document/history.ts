import { applyPatches, enablePatches, type Patch, produceWithPatches } from "immer";
import type { Workflow } from "./schema";

enablePatches();

/** An edit of a document, as data: what it is called in the menu and what it changes. */
export interface Command {
  label: string;
  /** Commands in a row with the same key become one undo step while the pause between them is short. */
  mergeKey?: string;
  change: (draft: Workflow) => void;
  /** Nodes to bring into view when the step is undone or redone. */
  touches?: readonly string[];
}

export interface Step {
  label: string;
  mergeKey: string | null;
  at: number;
  forward: Patch[];
  backward: Patch[];
  touches: readonly string[];
  size: number;
}

export interface History {
  done: readonly Step[];
  undone: readonly Step[];
}

export interface Edited {
  doc: Workflow;
  history: History;
}

export const MERGE_PAUSE_MS = 800;
export const SIZE_LIMIT = 10_000_000;
export const emptyHistory: History = { done: [], undone: [] };

/** Applies a command at time `now` (ms). A command that changes nothing leaves no step behind. */
export function apply(state: Edited, command: Command, now: number): Edited {
  const [doc, forward, backward] = produceWithPatches(state.doc, (draft) => command.change(draft));
  if (forward.length === 0) return state;
  const last = state.history.done.at(-1);
  const step = makeStep(command, forward, backward, now);
  const isMerged =
    last !== undefined &&
    step.mergeKey !== null &&
    last.mergeKey === step.mergeKey &&
    state.history.undone.length === 0 &&
    now - last.at <= MERGE_PAUSE_MS;
  const done = isMerged
    ? [...state.history.done.slice(0, -1), merged(last, step)]
    : [...state.history.done, step];
  return { doc, history: { done: withinLimit(done), undone: [] } };
}

export function undo(state: Edited): Edited {
  const step = state.history.done.at(-1);
  if (!step) return state;
  return {
    doc: applyPatches(state.doc, step.backward),
    history: { done: state.history.done.slice(0, -1), undone: [...state.history.undone, sealed(step)] },
  };
}

export function redo(state: Edited): Edited {
  const step = state.history.undone.at(-1);
  if (!step) return state;
  return {
    doc: applyPatches(state.doc, step.forward),
    history: { done: [...state.history.done, step], undone: state.history.undone.slice(0, -1) },
  };
}

function makeStep(command: Command, forward: Patch[], backward: Patch[], now: number): Step {
  return {
    label: command.label,
    mergeKey: command.mergeKey ?? null,
    at: now,
    forward,
    backward,
    touches: command.touches ?? [],
    size: JSON.stringify(forward).length + JSON.stringify(backward).length,
  };
}

function merged(first: Step, second: Step): Step {
  return {
    ...second,
    forward: [...first.forward, ...second.forward],
    backward: [...second.backward, ...first.backward],
    size: first.size + second.size,
  };
}

/** A step that was undone once never swallows a later edit. */
const sealed = (step: Step): Step => ({ ...step, mergeKey: null });

function withinLimit(steps: Step[]): Step[] {
  let size = steps.reduce((sum, step) => sum + step.size, 0);
  let first = 0;
  while (size > SIZE_LIMIT && first < steps.length - 1) {
    size -= steps[first]?.size ?? 0;
    first += 1;
  }
  return first === 0 ? steps : steps.slice(first);
}
