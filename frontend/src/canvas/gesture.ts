/** Drawing an edge: what is in the hand, and where it would land. */
import { create } from "zustand";
import { type Catalog, fits, inputOf, outputOf } from "../document/catalog";
import { connect, type Point, remove } from "../document/commands";
import { bestSocket, canLand, closesCycle, edgeBetween, type LooseEnd, looseEnd } from "../document/connect";
import { layoutOf } from "../document/layouts";
import { edgesOf, type SocketRef, viewOf, type Workflow } from "../document/schema";
import { documentOf, runCommand } from "../state/documents";
import { speak } from "../state/notices";
import { catalogNow } from "../state/server";
import { t } from "../i18n";

export interface Gesture {
  uid: string;
  end: LooseEnd;
  /** Type of the wire in the hand, for its colour. */
  wireType: string;
  /** Where the fixed end is, in the document. */
  from: Point;
  /** Where the pointer is, in the document. */
  to: Point;
  /** The edge that was taken off its input, until release. */
  detached: string | null;
  target: SocketRef | null;
}

export const useGesture = create<{ gesture: Gesture | null }>(() => ({ gesture: null }));

const SNAP = 22;

export const socketPoint = (doc: Workflow, catalog: Catalog, [nodeId, name]: SocketRef, side: string): Point | null => {
  const layout = layoutOf(doc, catalog, nodeId);
  const socket = layout.sockets.find((place) => place.side === side && place.name === name);
  const { x, y } = viewOf(doc, nodeId);
  return socket ? { x: x + (side === "input" ? 0 : layout.w), y: y + socket.y } : null;
};

/** Takes an end in hand. From a connected input it is that edge's loose end: dropped elsewhere it moves, dropped on
 * nothing it goes. */
export function begin(uid: string, ref: SocketRef, side: "input" | "output"): void {
  const doc = documentOf(uid)?.doc;
  if (!doc) return;
  const catalog = catalogNow();
  const fed = side === "input" ? Object.entries(edgesOf(doc)).find(([, { to }]) => to[0] === ref[0] && to[1] === ref[1]) : undefined;
  const [detached, anchor, anchorSide] = fed ? [fed[0], fed[1].from, "output" as const] : [null, ref, side];
  const end = looseEnd(doc, catalog, anchor, anchorSide);
  const from = socketPoint(doc, catalog, anchor, anchorSide);
  if (!end || !from) return;
  useGesture.setState({ gesture: { uid, end, wireType: end.types[0] ?? "ANY", from, to: from, detached, target: null } });
}

/** Moves the loose end. It snaps to the nearest fitting socket, or to the best socket of the node under it. */
export function move(to: Point, zoom: number): void {
  const { gesture } = useGesture.getState();
  const doc = gesture && documentOf(gesture.uid)?.doc;
  if (!gesture || !doc) return;
  const target = nearest(doc, gesture.end, to, SNAP / zoom) ?? underneath(doc, gesture.end, to);
  useGesture.setState({ gesture: { ...gesture, to, target } });
}

export const abandon = (): void => useGesture.setState({ gesture: null });

/** Lets go. Returns the loose end when it was dropped on empty canvas with nothing to undo: time for the palette. */
export function finish(): Gesture | null {
  const { gesture } = useGesture.getState();
  useGesture.setState({ gesture: null });
  const open = gesture && documentOf(gesture.uid);
  if (!gesture || !open) return null;
  if (gesture.target) {
    runCommand(gesture.uid, connect(edgeBetween(gesture.end, gesture.target), gesture.detached ?? undefined));
    speak(t("Connected {from} to {to}", { from: gesture.end.socket, to: gesture.target[1] }));
    return null;
  }
  if (!gesture.detached) return gesture;
  runCommand(gesture.uid, remove(open.doc, { nodes: [], edges: [gesture.detached] }, catalogNow(), { isHealing: false }));
  return null;
}

function nearest(doc: Workflow, end: LooseEnd, to: Point, reach: number): SocketRef | null {
  const catalog = catalogNow();
  let found: SocketRef | null = null;
  let closest = reach;
  for (const [nodeId, node] of Object.entries(doc.graph.nodes)) {
    const { x, y } = viewOf(doc, nodeId);
    const layout = layoutOf(doc, catalog, nodeId);
    const isNear = to.x > x - reach && to.x < x + layout.w + reach && to.y > y - reach && to.y < y + layout.h + reach;
    if (!isNear) continue;
    for (const socket of layout.sockets) {
      const distance = Math.hypot(to.x - x - (socket.side === "input" ? 0 : layout.w), to.y - y - socket.y);
      const type = catalog[node.type];
      const types = socket.side === "input" ? inputOf(type, socket.name)?.types : [outputOf(type, socket.name)?.type ?? ""];
      if (distance >= closest || !canLand(end, nodeId, socket.side, types ?? [])) continue;
      if (closesCycle(doc, edgeBetween(end, [nodeId, socket.name]))) continue;
      closest = distance;
      found = [nodeId, socket.name];
    }
  }
  return found;
}

function underneath(doc: Workflow, end: LooseEnd, to: Point): SocketRef | null {
  const catalog = catalogNow();
  const ids = Object.keys(doc.graph.nodes).reverse();
  const nodeId = ids.find((id) => {
    const { x, y } = viewOf(doc, id);
    const { w, h } = layoutOf(doc, catalog, id);
    return to.x >= x && to.x <= x + w && to.y >= y && to.y <= y + h;
  });
  const type = catalog[doc.graph.nodes[nodeId ?? ""]?.type ?? ""];
  if (nodeId === undefined || !type || nodeId === end.node) return null;
  const edges = Object.values(edgesOf(doc));
  const socket = bestSocket(end, type, (name) => edges.some(({ to: at }) => at[0] === nodeId && at[1] === name));
  return socket && !closesCycle(doc, edgeBetween(end, [nodeId, socket])) ? [nodeId, socket] : null;
}

/** How a socket looks while an end is in the hand. */
export function standing(
  gesture: Gesture | null,
  nodeId: string,
  side: "input" | "output",
  name: string,
  types: readonly string[],
): "rest" | "fits" | "target" | "dim" {
  if (!gesture) return "rest";
  if (gesture.target?.[0] === nodeId && gesture.target[1] === name && gesture.end.side !== side) return "target";
  if (gesture.end.node === nodeId && gesture.end.socket === name && gesture.end.side === side) return "rest";
  const isFitting =
    side === "input"
      ? canLand(gesture.end, nodeId, side, types)
      : gesture.end.side === "input" && gesture.end.node !== nodeId && fits(types[0] ?? "", gesture.end.types);
  return isFitting ? "fits" : "dim";
}
