import type { Diagnostic } from "../wire/api";
import { useChecks } from "./checks";
import { isWithin } from "../document/ways";
import { nodeIn, type NodeRun, shownRun, useRuns } from "./runs";

/** What there is to say about one node: findings of the compiler and of its last run. */
export interface NodeStatus {
  findings: readonly Diagnostic[];
  run: NodeRun | null;
  isRunning: boolean;
  takes: number;
}

export function useNodeFindings(uid: string, nodeId: string): readonly Diagnostic[] {
  const text = useChecks((state) => {
    const found = state.checks[uid]?.diagnostics.filter((finding) => finding.node_id !== null && isWithin(finding.node_id, nodeId));
    return found?.length ? JSON.stringify(found) : "";
  });
  return text ? (JSON.parse(text) as Diagnostic[]) : NONE;
}

const NONE: readonly Diagnostic[] = [];

export function useNodeStatus(uid: string, nodeId: string): NodeStatus {
  const findings = useNodeFindings(uid, nodeId);
  const run = useRuns((state) => nodeIn(shownRun(state, uid, nodeId), nodeId));
  const isActive = useRuns((state) => shownRun(state, uid, nodeId)?.state === "running");
  const takes = useRuns((state) => state.takes[uid]?.[nodeId] ?? 0);
  return { findings, run, isRunning: isActive && run?.state === "running", takes };
}

/** How long something took, in three figures: 0.41 s, 12.3 s, 2:05. */
export function duration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(2)} s`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}

export function progressOf(run: NodeRun): { share: number | null; text: string } {
  const { step, stepCount, chunkIndex, chunkCount } = run;
  if (run.isRollout || (chunkIndex !== null && (chunkCount === null || chunkCount > 1))) {
    const chunk = (chunkIndex ?? 0) + 1;
    const within = step && stepCount ? step / stepCount : 0;
    return chunkCount
      ? { share: (chunk - 1 + within) / chunkCount, text: `${chunk}/${chunkCount}` }
      : { share: null, text: `chunk ${chunk}` };
  }
  if (step === null || !stepCount) return { share: null, text: "" };
  return { share: step / stepCount, text: `${step}/${stepCount}` };
}
