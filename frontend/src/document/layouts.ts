import type { Catalog, NodeType } from "./catalog";
import { layoutNode, type NodeLayout, type SocketUse } from "./layoutNode";
import { edgesOf, type NodeView, viewOf, type Workflow, type WorkflowNode } from "./schema";

interface Kept {
  type: NodeType | undefined;
  view: NodeView;
  edges: unknown;
  layout: NodeLayout;
}

const kept = new WeakMap<WorkflowNode, Kept>();

/** The layout of a node of a document. Kept until the node, its width or its declaration changes. */
export function layoutOf(doc: Workflow, catalog: Catalog, nodeId: string): NodeLayout {
  const node = doc.graph.nodes[nodeId];
  if (!node) return layoutNode(undefined, { type: "" }, { x: 0, y: 0 });
  const type = catalog[node.type];
  const view = viewOf(doc, nodeId);
  const edges = type ? null : edgesOf(doc);
  const known = kept.get(node);
  const isSameShape = known && known.view.w === view.w && known.view.is_collapsed === view.is_collapsed;
  if (known && isSameShape && known.type === type && known.edges === edges) return known.layout;
  const layout = layoutNode(type, node, view, type ? undefined : usedSockets(doc, nodeId));
  kept.set(node, { type, view, edges, layout });
  return layout;
}

function usedSockets(doc: Workflow, nodeId: string): SocketUse {
  const edges = Object.values(edgesOf(doc));
  const inputs = edges.filter(({ to }) => to[0] === nodeId).map(({ to }) => to[1]);
  const outputs = edges.filter(({ from }) => from[0] === nodeId).map(({ from }) => from[1]);
  return { inputs: [...new Set(inputs)], outputs: [...new Set(outputs)] };
}
