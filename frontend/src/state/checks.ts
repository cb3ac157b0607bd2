import { create } from "zustand";
import type { Workflow } from "../document/schema";
import { ApiError, rest } from "../transport/rest";
import type { CompileEstimate, Diagnostic } from "../wire/api";
import { useDocuments } from "./documents";

/** What the compiler says of a document as it stands. */
export interface Check {
  diagnostics: readonly Diagnostic[];
  isOk: boolean;
  explain: string | null;
  estimate: CompileEstimate | null;
}

interface Checks {
  checks: Readonly<Record<string, Check>>;
  /** Documents whose check is on its way. */
  pending: Readonly<Record<string, boolean>>;
}

const PAUSE_MS = 250;
const NO_FINDINGS: readonly Diagnostic[] = [];

export const useChecks = create<Checks>(() => ({ checks: {}, pending: {} }));

export const useFindings = (uid: string): readonly Diagnostic[] =>
  useChecks((state) => state.checks[uid]?.diagnostics ?? NO_FINDINGS);

export function setFindings(uid: string, diagnostics: readonly Diagnostic[]): void {
  const isOk = !diagnostics.some((finding) => finding.severity === "error");
  useChecks.setState((state) => ({
    checks: { ...state.checks, [uid]: { diagnostics, isOk, explain: null, estimate: null } },
  }));
}

const checked = new Map<string, Workflow["graph"]>();
const timers = new Map<string, ReturnType<typeof setTimeout>>();
const requests = new Map<string, AbortController>();

/** Checks every open document again a moment after its graph changed. Moving a node asks nothing. */
export function watchDocuments(): void {
  const look = () => {
    for (const { uid, doc } of Object.values(useDocuments.getState().documents)) {
      if (checked.get(uid) === doc.graph) continue;
      checked.set(uid, doc.graph);
      plan(uid, PAUSE_MS);
    }
  };
  look();
  useDocuments.subscribe(look);
}

/** Asks again for all, as after the server came back or its files changed. */
export function recheckAll(): void {
  for (const uid of useDocuments.getState().order) plan(uid, 0);
}

function plan(uid: string, pause: number): void {
  clearTimeout(timers.get(uid));
  requests.get(uid)?.abort();
  setPending(uid, true);
  timers.set(uid, setTimeout(() => void check(uid), pause));
}

async function check(uid: string): Promise<void> {
  const open = useDocuments.getState().documents[uid];
  if (!open) return;
  const request = new AbortController();
  requests.set(uid, request);
  const { view: _view, ...workflow } = open.doc;
  try {
    const reply = await rest.compile(workflow, request.signal);
    const { diagnostics, ok: isOk, explain, estimate } = reply;
    useChecks.setState((state) => ({ checks: { ...state.checks, [uid]: { diagnostics, isOk, explain, estimate } } }));
  } catch (error) {
    if (request.signal.aborted) return;
    if (!(error instanceof ApiError)) throw error;
    if (error.diagnostics.length) setFindings(uid, error.diagnostics);
  }
  setPending(uid, false);
}

const setPending = (uid: string, isPending: boolean): void =>
  useChecks.setState((state) => ({ pending: { ...state.pending, [uid]: isPending } }));
