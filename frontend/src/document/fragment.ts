import type { Point } from "./commands";
import { freshId } from "./ids";
import { edgesOf, type NodeView, viewOf, type Workflow, type WorkflowEdge, type WorkflowNode } from "./schema";

/** Copied nodes, as they travel through the clipboard: plain JSON text that also survives a chat window. */
export interface Fragment {
  schema: typeof FRAGMENT_SCHEMA;
  nodes: Record<string, WorkflowNode>;
  /** Edges among the nodes and edges that come into them from outside. */
  edges: WorkflowEdge[];
  /** Places relative to the top left corner of the selection. */
  view: Record<string, NodeView>;
}

export const FRAGMENT_SCHEMA = "rushes.fragment/1";

export function copyFragment(doc: Workflow, nodeIds: readonly string[]): Fragment | null {
  const ids = nodeIds.filter((id) => id in doc.graph.nodes);
  if (!ids.length) return null;
  const views = ids.map((id) => viewOf(doc, id));
  const left = Math.min(...views.map((view) => view.x));
  const top = Math.min(...views.map((view) => view.y));
  const chosen = new Set(ids);
  return {
    schema: FRAGMENT_SCHEMA,
    nodes: Object.fromEntries(ids.map((id) => [id, doc.graph.nodes[id] as WorkflowNode])),
    edges: Object.values(edgesOf(doc)).filter((edge) => chosen.has(edge.to[0])),
    view: Object.fromEntries(
      ids.map((id) => [id, { ...viewOf(doc, id), x: viewOf(doc, id).x - left, y: viewOf(doc, id).y - top }]),
    ),
  };
}

export function fragmentOrigin(doc: Workflow, nodeIds: readonly string[]): Point {
  const views = nodeIds.map((id) => viewOf(doc, id));
  return { x: Math.min(...views.map((view) => view.x)), y: Math.min(...views.map((view) => view.y)) };
}

/** Reads clipboard text; null when it is not a fragment of ours. */
export function readFragment(text: string): Fragment | null {
  if (!text.includes(FRAGMENT_SCHEMA)) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const fragment = value as Partial<Fragment>;
  const isOurs = fragment.schema === FRAGMENT_SCHEMA && typeof fragment.nodes === "object" && Array.isArray(fragment.edges);
  return isOurs ? { ...(fragment as Fragment), view: fragment.view ?? {} } : null;
}

export function pasteIds(doc: Workflow, fragment: Fragment): Record<string, string> {
  const taken: Record<string, unknown> = { ...doc.graph.nodes };
  const ids: Record<string, string> = {};
  for (const oldId of Object.keys(fragment.nodes)) {
    const id = freshId("n", taken);
    taken[id] = true;
    ids[oldId] = id;
  }
  return ids;
}
