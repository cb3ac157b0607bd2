import { createContext, useContext } from "react";
import { create } from "zustand";

/** The document a canvas shows. */
export const CanvasDocument = createContext<string>("");
export const useUid = (): string => useContext(CanvasDocument);

export type Tier = "full" | "shell";

interface CanvasState {
  /** How much of each node is drawn, by how many are in view. */
  tier: Tier;
  renaming: string | null;
  hovered: string | null;
}

export const useCanvas = create<CanvasState>(() => ({ tier: "full", renaming: null, hovered: null }));

export const rename = (nodeId: string | null): void => useCanvas.setState({ renaming: nodeId });

const FULL_LIMIT = 40;
const HYSTERESIS = 6;

export function setNodesInView(count: number): void {
  const { tier } = useCanvas.getState();
  const limit = tier === "full" ? FULL_LIMIT : FULL_LIMIT - HYSTERESIS;
  const next: Tier = count > limit ? "shell" : "full";
  if (next !== tier) useCanvas.setState({ tier: next });
}
