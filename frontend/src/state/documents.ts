import { create } from "zustand";
import { apply, type Command, emptyHistory, type History, redo, undo } from "../document/history";
import { newId } from "../document/ids";
import type { Workflow } from "../document/schema";

/** An open document. `uid` is minted when it opens and never written to a file. */
export interface OpenDocument {
  uid: string;
  doc: Workflow;
  history: History;
  /** The document as it was last saved to the server or a file; null for one never saved. */
  saved: Workflow | null;
  server: { workflowId: string; version: number } | null;
}

interface Documents {
  order: readonly string[];
  active: string | null;
  documents: Readonly<Record<string, OpenDocument>>;
}

export const useDocuments = create<Documents>(() => ({ order: [], active: null, documents: {} }));

const patch = (uid: string, change: (open: OpenDocument) => OpenDocument): void =>
  useDocuments.setState((state) => {
    const open = state.documents[uid];
    if (!open) return state;
    const changed = change(open);
    return changed === open ? state : { documents: { ...state.documents, [uid]: changed } };
  });

export const documentOf = (uid: string): OpenDocument | undefined => useDocuments.getState().documents[uid];

export const activeDocument = (): OpenDocument | undefined => {
  const { active, documents } = useDocuments.getState();
  return active === null ? undefined : documents[active];
};

export function openDocument(doc: Workflow, known: Partial<OpenDocument> = {}): string {
  const uid = known.uid ?? newId("d");
  const open: OpenDocument = { uid, doc, history: emptyHistory, saved: doc, server: null, ...known };
  useDocuments.setState((state) => ({
    order: [...state.order.filter((other) => other !== uid), uid],
    active: uid,
    documents: { ...state.documents, [uid]: open },
  }));
  return uid;
}

export function closeDocument(uid: string): void {
  useDocuments.setState((state) => {
    const order = state.order.filter((other) => other !== uid);
    const { [uid]: _closed, ...documents } = state.documents;
    const next = order[Math.min(state.order.indexOf(uid), order.length - 1)] ?? null;
    return { order, documents, active: state.active === uid ? next : state.active };
  });
}

export const activate = (uid: string): void => useDocuments.setState({ active: uid });

export const runCommand = (uid: string, command: Command): void =>
  patch(uid, (open) => {
    const edited = apply(open, command, Date.now());
    return edited === open ? open : { ...open, ...edited };
  });

export function undoEdit(uid: string): readonly string[] {
  const touches = documentOf(uid)?.history.done.at(-1)?.touches ?? [];
  patch(uid, (open) => ({ ...open, ...undo(open) }));
  return touches;
}

export function redoEdit(uid: string): readonly string[] {
  const touches = documentOf(uid)?.history.undone.at(-1)?.touches ?? [];
  patch(uid, (open) => ({ ...open, ...redo(open) }));
  return touches;
}

/** Notes what was saved. Edits made while the request was on its way stay unsaved. */
export const markSaved = (uid: string, saved: Workflow, server?: OpenDocument["server"]): void =>
  patch(uid, (open) => ({ ...open, saved, server: server ?? open.server }));

export const isDirty = (open: OpenDocument): boolean => open.doc !== open.saved;
