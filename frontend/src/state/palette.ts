import { create } from "zustand";
import type { LooseEnd } from "../document/connect";
import type { Point } from "../document/commands";

/** The search palette: nodes at a place of a document, fitting a loose end or an edge if there is one; or actions. */
export type OpenPalette =
  | { mode: "nodes"; uid: string; screen: Point | null; place: Point; end: LooseEnd | null; edgeId: string | null }
  | { mode: "actions" };

export const usePalette = create<{ open: OpenPalette | null }>(() => ({ open: null }));

interface NodesRequest {
  uid: string;
  screen: Point | null;
  place: Point;
  end?: LooseEnd;
  edgeId?: string;
}

export const openPalette = ({ uid, screen, place, end, edgeId }: NodesRequest): void =>
  usePalette.setState({ open: { mode: "nodes", uid, screen, place, end: end ?? null, edgeId: edgeId ?? null } });

export const openActions = (): void => usePalette.setState({ open: { mode: "actions" } });
export const closePalette = (): void => usePalette.setState({ open: null });
