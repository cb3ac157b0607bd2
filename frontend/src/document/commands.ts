/** Every edit a person can make to a workflow. Each returns a `Command`; nothing here reads a screen or a server. */
import { type Catalog, defaultParams, fits, inputOf, type NodeType, outputOf } from "./catalog";
import type { Fragment } from "./fragment";
import type { Command } from "./history";
import { freshId } from "./ids";
import type { NodeMode, NodeView, ParamValue, SocketRef, Workflow, WorkflowEdge } from "./schema";
import { edgesOf } from "./schema";

export interface Point {
  x: number;
  y: number;
}

export interface Removal {
  nodes: readonly string[];
  edges: readonly string[];
}

export interface NewNode {
  id: string;
  type: NodeType;
  at: Point;
  /** An edge to lay with it, the new node at one end. */
  edge?: WorkflowEdge;
}

const viewNodes = (draft: Workflow): Record<string, NodeView> => {
  draft.view ??= {};
  draft.view.nodes ??= {};
  return draft.view.nodes;
};

const viewNode = (draft: Workflow, nodeId: string): NodeView => {
  const nodes = viewNodes(draft);
  nodes[nodeId] ??= { x: 0, y: 0 };
  return nodes[nodeId];
};

const draftEdges = (draft: Workflow): Record<string, WorkflowEdge> => {
  draft.graph.edges ??= {};
  return draft.graph.edges;
};

const isSame = (left: SocketRef, right: SocketRef): boolean => left[0] === right[0] && left[1] === right[1];

/** One edge per input socket: a new one takes the place of the old. */
function layEdge(draft: Workflow, edge: WorkflowEdge): void {
  const edges = draftEdges(draft);
  for (const [id, other] of Object.entries(edges)) if (isSame(other.to, edge.to)) delete edges[id];
  edges[freshId("e", edges)] = { from: [...edge.from], to: [...edge.to] };
}

export function addNode({ id, type, at, edge }: NewNode): Command {
  return {
    label: `Add ${type.title}`,
    touches: [id],
    change: (draft) => {
      draft.graph.nodes[id] = { type: type.type_id, version: type.version, params: defaultParams(type) };
      viewNodes(draft)[id] = { x: Math.round(at.x), y: Math.round(at.y) };
      if (edge) layEdge(draft, edge);
    },
  };
}

export function connect(edge: WorkflowEdge, replaced?: string): Command {
  return {
    label: replaced ? "Move edge" : "Connect",
    touches: [edge.from[0], edge.to[0]],
    change: (draft) => {
      const edges = draftEdges(draft);
      const isThere = Object.values(edges).some((other) => isSame(other.from, edge.from) && isSame(other.to, edge.to));
      if (isThere) return;
      if (replaced) delete edges[replaced];
      layEdge(draft, edge);
    },
  };
}

/** Puts a node on an edge: source to its first fitting input, its first fitting output to the target. */
export function insertOnEdge(edgeId: string, node: NewNode, sockets: { input: string; output: string }): Command {
  return {
    label: `Insert ${node.type.title}`,
    touches: [node.id],
    change: (draft) => {
      const edge = draftEdges(draft)[edgeId];
      if (!edge) return;
      const { from, to } = { from: [...edge.from] as SocketRef, to: [...edge.to] as SocketRef };
      addNode(node).change(draft);
      layEdge(draft, { from, to: [node.id, sockets.input] });
      layEdge(draft, { from: [node.id, sockets.output], to });
    },
  };
}

export function remove(doc: Workflow, removal: Removal, catalog: Catalog, { isHealing }: { isHealing: boolean }): Command {
  const nodeCount = removal.nodes.length;
  const edgeCount = removal.edges.length;
  const label = nodeCount
    ? `Delete ${nodeCount === 1 ? "node" : `${nodeCount} nodes`}`
    : `Delete ${edgeCount === 1 ? "edge" : `${edgeCount} edges`}`;
  const healed = isHealing ? bridges(doc, removal, catalog) : [];
  return {
    label,
    touches: removal.nodes,
    change: (draft) => {
      const edges = draftEdges(draft);
      const gone = new Set(removal.nodes);
      for (const id of removal.edges) delete edges[id];
      for (const [id, edge] of Object.entries(edges)) if (gone.has(edge.from[0]) || gone.has(edge.to[0])) delete edges[id];
      for (const id of gone) {
        delete draft.graph.nodes[id];
        if (draft.view?.nodes) delete draft.view.nodes[id];
      }
      for (const edge of healed) layEdge(draft, edge);
    },
  };
}

/** Edges that keep the flow when nodes go: what fed a removed node goes on to what it fed, where types allow. */
function bridges(doc: Workflow, removal: Removal, catalog: Catalog): WorkflowEdge[] {
  const gone = new Set(removal.nodes);
  const cut = new Set(removal.edges);
  const edges = Object.entries(edgesOf(doc)).filter(([id]) => !cut.has(id));
  const typeOf = (nodeId: string) => catalog[doc.graph.nodes[nodeId]?.type ?? ""];
  const outType = ([node, socket]: SocketRef) => outputOf(typeOf(node), socket)?.type ?? "";
  const sourceFor = (nodeId: string, wanted: readonly string[], depth: number): SocketRef | null => {
    for (const [, edge] of edges) {
      if (edge.to[0] !== nodeId || depth > removal.nodes.length) continue;
      if (!gone.has(edge.from[0])) {
        if (fits(outType(edge.from), wanted)) return edge.from;
      } else {
        const deeper = fits(outType(edge.from), wanted) ? sourceFor(edge.from[0], wanted, depth + 1) : null;
        if (deeper) return deeper;
      }
    }
    return null;
  };
  const found: WorkflowEdge[] = [];
  for (const [, edge] of edges) {
    if (!gone.has(edge.from[0]) || gone.has(edge.to[0])) continue;
    const wanted = inputOf(typeOf(edge.to[0]), edge.to[1])?.types ?? [];
    const isPassThrough = fits(outType(edge.from), wanted);
    const source = isPassThrough ? sourceFor(edge.from[0], wanted, 0) : null;
    if (source) found.push({ from: source, to: edge.to });
  }
  return found;
}

export function setParam(nodeId: string, name: string, value: ParamValue): Command {
  return {
    label: `Set ${name}`,
    mergeKey: `param:${nodeId}:${name}`,
    touches: [nodeId],
    change: (draft) => {
      const node = draft.graph.nodes[nodeId];
      if (!node) return;
      node.params ??= {};
      node.params[name] = value;
    },
  };
}

export function renameNode(nodeId: string, title: string): Command {
  return {
    label: "Rename node",
    touches: [nodeId],
    change: (draft) => {
      const node = draft.graph.nodes[nodeId];
      if (!node) return;
      if (title) node.title = title;
      else delete node.title;
    },
  };
}

export function setTitle(title: string): Command {
  return { label: "Rename workflow", mergeKey: "title", change: (draft) => void (draft.title = title) };
}

export function moveNodes(places: Readonly<Record<string, Point>>, label = "Move"): Command {
  return {
    label: Object.keys(places).length > 1 ? `${label} nodes` : `${label} node`,
    touches: Object.keys(places),
    change: (draft) => {
      for (const [id, place] of Object.entries(places)) {
        const view = viewNode(draft, id);
        view.x = Math.round(place.x);
        view.y = Math.round(place.y);
      }
    },
  };
}

export function setMode(nodeIds: readonly string[], mode: NodeMode): Command {
  const verb = { active: "Activate", muted: "Mute", bypassed: "Bypass" }[mode];
  return {
    label: verb,
    touches: nodeIds,
    change: (draft) => {
      for (const id of nodeIds) {
        const node = draft.graph.nodes[id];
        if (node) node.mode = mode;
      }
    },
  };
}

export function setCollapsed(nodeIds: readonly string[], isCollapsed: boolean): Command {
  return {
    label: isCollapsed ? "Collapse" : "Expand",
    touches: nodeIds,
    change: (draft) => {
      for (const id of nodeIds) {
        const view = viewNode(draft, id);
        if (isCollapsed) view.is_collapsed = true;
        else delete view.is_collapsed;
      }
    },
  };
}

/** A random seed takes a new number each run; a fixed one stays. Editor state, kept in the view. */
export function setRandom(nodeId: string, param: string, isRandom: boolean, value?: number): Command {
  return {
    label: isRandom ? "Unlock seed" : "Lock seed",
    touches: [nodeId],
    change: (draft) => {
      const view = viewNode(draft, nodeId);
      const others = (view.random ?? []).filter((name) => name !== param);
      const random = isRandom ? [...others, param] : others;
      if (random.length) view.random = random;
      else delete view.random;
      if (value !== undefined) setParam(nodeId, param, value).change(draft);
    },
  };
}

export interface Paste {
  fragment: Fragment;
  at: Point;
  /** New ids by old id. */
  ids: Readonly<Record<string, string>>;
  isKeepingInputs: boolean;
  label?: string;
}

export function paste({ fragment, at, ids, isKeepingInputs, label = "Paste" }: Paste): Command {
  return {
    label,
    touches: Object.values(ids),
    change: (draft) => {
      for (const [oldId, node] of Object.entries(fragment.nodes)) {
        const id = ids[oldId];
        if (!id) continue;
        const view = fragment.view[oldId] ?? { x: 0, y: 0 };
        draft.graph.nodes[id] = structuredClone(node);
        viewNodes(draft)[id] = { ...structuredClone(view), x: Math.round(view.x + at.x), y: Math.round(view.y + at.y) };
      }
      for (const edge of fragment.edges) {
        const to = ids[edge.to[0]];
        const from = ids[edge.from[0]] ?? edge.from[0];
        const isInside = edge.from[0] in ids;
        if (!to || !(isInside || (isKeepingInputs && from in draft.graph.nodes))) continue;
        layEdge(draft, { from: [from, edge.from[1]], to: [to, edge.to[1]] });
      }
    },
  };
}
