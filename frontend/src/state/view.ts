import { create } from "zustand";
import type { Camera } from "../document/schema";

/** What a person sees of a document and has in hand. Not undone, not part of the file. */
export interface DocumentView {
  nodes: readonly string[];
  edges: readonly string[];
  camera: Camera | null;
  /** The node the viewer shows; null follows the run. */
  watched: string | null;
}

const FRESH: DocumentView = { nodes: [], edges: [], camera: null, watched: null };

export const useView = create<{ views: Readonly<Record<string, DocumentView>> }>(() => ({ views: {} }));

export const viewOfDocument = (uid: string): DocumentView => useView.getState().views[uid] ?? FRESH;

const patch = (uid: string, change: Partial<DocumentView>): void =>
  useView.setState((state) => ({ views: { ...state.views, [uid]: { ...(state.views[uid] ?? FRESH), ...change } } }));

const isEqual = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && left.every((id, index) => id === right[index]);

export function select(uid: string, nodes: readonly string[], edges: readonly string[] = []): void {
  const now = viewOfDocument(uid);
  if (!isEqual(now.nodes, nodes) || !isEqual(now.edges, edges)) patch(uid, { nodes, edges });
}

export const watch = (uid: string, nodeId: string | null): void => patch(uid, { watched: nodeId });
export const keepCamera = (uid: string, camera: Camera): void => patch(uid, { camera });

export const useDocumentView = <T>(uid: string, pick: (view: DocumentView) => T): T =>
  useView((state) => pick(state.views[uid] ?? FRESH));
