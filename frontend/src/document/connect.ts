import { type Catalog, fits, inputOf, type NodeType, outputOf, type Side } from "./catalog";
import { edgesOf, type SocketRef, type Workflow, type WorkflowEdge } from "./schema";

/** The loose end of an edge being drawn: the socket it starts from. */
export interface LooseEnd {
  node: string;
  socket: string;
  side: Side;
  /** Types on the wire: one for an output, all accepted ones for an input. */
  types: readonly string[];
}

export function looseEnd(doc: Workflow, catalog: Catalog, ref: SocketRef, side: Side): LooseEnd | null {
  const type = catalog[doc.graph.nodes[ref[0]]?.type ?? ""];
  const types = side === "output" ? outputOf(type, ref[1])?.type : inputOf(type, ref[1])?.types;
  if (types === undefined) return null;
  return { node: ref[0], socket: ref[1], side, types: typeof types === "string" ? [types] : types };
}

/** Whether the loose end may land on a socket, types only. */
export function canLand(end: LooseEnd, nodeId: string, side: Side, types: readonly string[]): boolean {
  if (end.side === side || end.node === nodeId) return false;
  return end.side === "output" ? fits(end.types[0] ?? "", types) : fits(types[0] ?? "", end.types);
}

export const edgeBetween = (end: LooseEnd, other: SocketRef): WorkflowEdge =>
  end.side === "output"
    ? { from: [end.node, end.socket], to: other }
    : { from: other, to: [end.node, end.socket] };

/** Whether the edge would close a circle. */
export function closesCycle(doc: Workflow, edge: WorkflowEdge): boolean {
  const edges = Object.values(edgesOf(doc));
  const seen = new Set<string>();
  const open = [edge.to[0]];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === edge.from[0]) return true;
    if (seen.has(id)) continue;
    seen.add(id);
    for (const next of edges) if (next.from[0] === id) open.push(next.to[0]);
  }
  return false;
}

/** The best socket of a node type for a loose end: a free one with the same name first, then a free one, then any. */
export function bestSocket(end: LooseEnd, type: NodeType, isTaken: (socket: string) => boolean): string | null {
  const fitting =
    end.side === "output"
      ? type.inputs.filter((socket) => fits(end.types[0] ?? "", socket.types))
      : type.outputs.filter((socket) => fits(socket.type, end.types));
  const free = fitting.filter((socket) => end.side === "input" || !isTaken(socket.name));
  const pool = free.length ? free : fitting;
  const named = pool.find((socket) => socket.name === end.socket);
  const needed = pool.find((socket) => "optional" in socket && !socket.optional);
  return (named ?? needed ?? pool[0])?.name ?? null;
}

/** Sockets through which a node type could sit on an edge that carries `type`. */
export function throughSockets(type: NodeType, valueType: string): { input: string; output: string } | null {
  const input = type.inputs.find((socket) => fits(valueType, socket.types));
  const output = type.outputs.find((socket) => socket.type === valueType);
  return input && output ? { input: input.name, output: output.name } : null;
}

/** A node with everything that feeds it, the "run to here" set. */
export function ancestors(doc: Workflow, nodeId: string): Set<string> {
  const edges = Object.values(edgesOf(doc));
  const found = new Set<string>();
  const open = [nodeId];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    for (const edge of edges) if (edge.to[0] === id) open.push(edge.from[0]);
  }
  return found;
}
