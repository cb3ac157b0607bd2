import type { Point } from "./commands";
import type { Workflow } from "./schema";
import { edgesOf } from "./schema";

export interface Size {
  w: number;
  h: number;
}

const COLUMN_GAP = 80;
const NODE_GAP = 28;

/** Places for nodes in columns along the flow, few crossings, no overlaps. `ids` limits it to some nodes. */
export function arrange(doc: Workflow, ids: readonly string[], sizeOf: (id: string) => Size): Record<string, Point> {
  const chosen = new Set(ids);
  const links = Object.values(edgesOf(doc))
    .map((edge) => [edge.from[0], edge.to[0]] as const)
    .filter(([from, to]) => chosen.has(from) && chosen.has(to) && from !== to);
  const columns = orderColumns(columnsOf(ids, links), links);
  const places: Record<string, Point> = {};
  let x = 0;
  for (const column of columns) {
    const widest = Math.max(...column.map((id) => sizeOf(id).w));
    let y = 0;
    for (const id of column) {
      places[id] = { x, y };
      y += sizeOf(id).h + NODE_GAP;
    }
    x += widest + COLUMN_GAP;
  }
  centre(columns, places, sizeOf);
  return places;
}

/** A node stands one column after the last of its sources, then sources move right, next to what they feed. */
function columnsOf(ids: readonly string[], links: readonly (readonly [string, string])[]): string[][] {
  const depth = new Map(ids.map((id) => [id, 0]));
  for (let round = 0; round < ids.length; round += 1) {
    let hasMoved = false;
    for (const [from, to] of links) {
      const wanted = (depth.get(from) ?? 0) + 1;
      if (wanted > (depth.get(to) ?? 0) && wanted < ids.length) {
        depth.set(to, wanted);
        hasMoved = true;
      }
    }
    if (!hasMoved) break;
  }
  for (const id of [...ids].sort((left, right) => (depth.get(right) ?? 0) - (depth.get(left) ?? 0))) {
    const next = links.filter(([from]) => from === id).map(([, to]) => depth.get(to) ?? 0);
    if (next.length && !links.some(([, to]) => to === id)) depth.set(id, Math.max(Math.min(...next) - 1, 0));
  }
  const columns: string[][] = [];
  for (const id of ids) (columns[depth.get(id) ?? 0] ??= []).push(id);
  return columns.filter((column) => column?.length);
}

/** Sorts each column by the mean place of its neighbours, forth and back, so that edges cross less. */
function orderColumns(columns: string[][], links: readonly (readonly [string, string])[]): string[][] {
  const rank = new Map<string, number>();
  const note = () => columns.forEach((column) => column.forEach((id, index) => rank.set(id, index / column.length)));
  const mean = (id: string, side: 0 | 1): number => {
    const near = links.filter((link) => link[side] === id).map((link) => rank.get(link[1 - side] as string) ?? 0);
    return near.length ? near.reduce((sum, value) => sum + value, 0) / near.length : (rank.get(id) ?? 0);
  };
  note();
  for (let sweep = 0; sweep < 4; sweep += 1) {
    const side = sweep % 2 === 0 ? 1 : 0;
    for (const column of side ? columns : [...columns].reverse()) {
      const key = new Map(column.map((id) => [id, mean(id, side)]));
      column.sort((left, right) => (key.get(left) ?? 0) - (key.get(right) ?? 0));
      note();
    }
  }
  return columns;
}

function centre(columns: string[][], places: Record<string, Point>, sizeOf: (id: string) => Size): void {
  const heightOf = (column: string[]) =>
    column.reduce((sum, id) => sum + sizeOf(id).h + NODE_GAP, -NODE_GAP);
  const tallest = Math.max(...columns.map(heightOf), 0);
  for (const column of columns) {
    const shift = Math.round((tallest - heightOf(column)) / 2);
    for (const id of column) places[id] = { x: places[id]?.x ?? 0, y: (places[id]?.y ?? 0) + shift };
  }
}

/** Whether any two of the boxes overlap: a layout made elsewhere, for nodes of another size, should be tidied. */
export function hasOverlap(boxes: readonly (Point & Size)[]): boolean {
  return boxes.some((left, index) =>
    boxes.slice(index + 1).some(
      (right) =>
        left.x < right.x + right.w && right.x < left.x + left.w && left.y < right.y + right.h && right.y < left.y + left.h,
    ),
  );
}
