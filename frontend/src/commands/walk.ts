import { moveNodes, type Point } from "../document/commands";
import { layoutOf } from "../document/layouts";
import { edgesOf, viewOf } from "../document/schema";
import { documentOf, runCommand } from "../state/documents";
import { catalogNow } from "../state/server";
import { stage } from "../state/stage";
import { select, viewOfDocument } from "../state/view";

type Way = "left" | "right" | "up" | "down";

/** Moves the selection to a neighbour: along the edges sideways, else to the nearest node that way. */
export function walk(uid: string, way: Way): void {
  const doc = documentOf(uid)?.doc;
  if (!doc) return;
  const ids = Object.keys(doc.graph.nodes);
  const from = viewOfDocument(uid).nodes.at(-1) ?? null;
  const next = from === null ? ids[0] : (alongEdges(uid, from, way) ?? nearest(uid, from, way));
  if (next === undefined) return;
  select(uid, [next]);
  stage()?.reveal([next]);
}

function alongEdges(uid: string, from: string, way: Way): string | undefined {
  const doc = documentOf(uid)?.doc;
  if (!doc || way === "up" || way === "down") return undefined;
  const edges = Object.values(edgesOf(doc));
  return way === "left" ? edges.find(({ to }) => to[0] === from)?.from[0] : edges.find((edge) => edge.from[0] === from)?.to[0];
}

function nearest(uid: string, from: string, way: Way): string | undefined {
  const doc = documentOf(uid)?.doc;
  if (!doc) return undefined;
  const centre = (id: string): Point => {
    const { x, y } = viewOf(doc, id);
    const { w, h } = layoutOf(doc, catalogNow(), id);
    return { x: x + w / 2, y: y + h / 2 };
  };
  const here = centre(from);
  let best: string | undefined;
  let shortest = Number.POSITIVE_INFINITY;
  for (const id of Object.keys(doc.graph.nodes)) {
    const there = centre(id);
    const dx = there.x - here.x;
    const dy = there.y - here.y;
    const [ahead, aside] = { left: [-dx, dy], right: [dx, dy], up: [-dy, dx], down: [dy, dx] }[way] as [number, number];
    const distance = ahead + 2 * Math.abs(aside);
    if (id === from || ahead <= 0 || distance >= shortest) continue;
    best = id;
    shortest = distance;
  }
  return best;
}

export function nudge(uid: string, by: Point): void {
  const doc = documentOf(uid)?.doc;
  const ids = viewOfDocument(uid).nodes;
  if (!doc || !ids.length) return;
  const places = ids.map((id) => [id, { x: viewOf(doc, id).x + by.x, y: viewOf(doc, id).y + by.y }] as const);
  runCommand(uid, { ...moveNodes(Object.fromEntries(places)), mergeKey: "nudge" });
}
