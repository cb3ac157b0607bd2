import type { Point } from "../document/commands";

/** What the canvas does for the rest of the page. It registers itself while it is mounted. */
export interface Stage {
  fit: (nodeIds?: readonly string[]) => void;
  /** Brings nodes into view when they are not. */
  reveal: (nodeIds: readonly string[]) => void;
  zoomBy: (factor: number) => void;
  zoomTo: (zoom: number) => void;
  /** The place in the document under a point of the screen; without one, under the pointer or the centre. */
  place: (screen?: Point) => Point;
  focus: () => void;
}

let current: Stage | null = null;

export const stage = (): Stage | null => current;

export function setStage(next: Stage | null): void {
  current = next;
}
