/** Maps a document to what the drawing library takes. Objects stay the same while nothing about them changed. */
import { type Edge, type Node, type NodeHandle, Position } from "@xyflow/react";
import type { Catalog } from "../document/catalog";
import { outputOf } from "../document/catalog";
import type { Point } from "../document/commands";
import type { NodeLayout } from "../document/layoutNode";
import { layoutOf } from "../document/layouts";
import { edgesOf, viewOf, type Workflow } from "../document/schema";

export type FlowNode = Node<Record<string, never>, "workflow">;
export type FlowEdge = Edge<{ valueType: string }, "wire">;

const NO_DATA: Record<string, never> = {};

interface KeptNode {
  layout: NodeLayout;
  x: number;
  y: number;
  isSelected: boolean;
  isDragged: boolean;
  node: FlowNode;
}

interface KeptEdge {
  edge: unknown;
  valueType: string;
  isSelected: boolean;
  flow: FlowEdge;
}

export interface Shown {
  doc: Workflow;
  catalog: Catalog;
  nodes: readonly string[];
  edges: readonly string[];
  /** Places of nodes in the hand; the document learns them on release. */
  dragged: Readonly<Record<string, Point>>;
}

export class Adapter {
  private readonly keptNodes = new Map<string, KeptNode>();
  private readonly keptEdges = new Map<string, KeptEdge>();

  nodes({ doc, catalog, nodes, dragged }: Shown): FlowNode[] {
    const selected = new Set(nodes);
    for (const id of this.keptNodes.keys()) if (!(id in doc.graph.nodes)) this.keptNodes.delete(id);
    return Object.keys(doc.graph.nodes).map((id) => {
      const layout = layoutOf(doc, catalog, id);
      const { x, y } = dragged[id] ?? viewOf(doc, id);
      const isSelected = selected.has(id);
      const isDragged = id in dragged;
      const known = this.keptNodes.get(id);
      const isSame =
        known?.layout === layout &&
        known.x === x &&
        known.y === y &&
        known.isSelected === isSelected &&
        known.isDragged === isDragged;
      if (known && isSame) return known.node;
      const node = flowNode(id, layout, { x, y }, isSelected, isDragged);
      this.keptNodes.set(id, { layout, x, y, isSelected, isDragged, node });
      return node;
    });
  }

  edges({ doc, catalog, edges }: Shown): FlowEdge[] {
    const selected = new Set(edges);
    const all = edgesOf(doc);
    for (const id of this.keptEdges.keys()) if (!(id in all)) this.keptEdges.delete(id);
    const shown: FlowEdge[] = [];
    for (const [id, edge] of Object.entries(all)) {
      const source = doc.graph.nodes[edge.from[0]];
      const target = doc.graph.nodes[edge.to[0]];
      if (!source || !target) continue;
      const valueType = outputOf(catalog[source.type], edge.from[1])?.type ?? "ANY";
      const isSelected = selected.has(id);
      const known = this.keptEdges.get(id);
      if (known && known.edge === edge && known.valueType === valueType && known.isSelected === isSelected) {
        shown.push(known.flow);
        continue;
      }
      const flow: FlowEdge = {
        id,
        type: "wire",
        source: edge.from[0],
        sourceHandle: edge.from[1],
        target: edge.to[0],
        targetHandle: edge.to[1],
        selected: isSelected,
        focusable: false,
        data: { valueType },
      };
      this.keptEdges.set(id, { edge, valueType, isSelected, flow });
      shown.push(flow);
    }
    return shown;
  }
}

function flowNode(id: string, layout: NodeLayout, position: Point, isSelected: boolean, isDragged: boolean): FlowNode {
  return {
    id,
    type: "workflow",
    position,
    data: NO_DATA,
    width: layout.w,
    height: layout.h,
    measured: { width: layout.w, height: layout.h },
    handles: handlesOf(layout),
    selected: isSelected,
    dragging: isDragged,
    focusable: false,
    zIndex: isSelected ? 2 : 0,
  };
}

/** Declared, so that no node has to be mounted for its edges to find it. */
function handlesOf(layout: NodeLayout): NodeHandle[] {
  return layout.sockets.map((socket) => ({
    id: socket.name,
    type: socket.side === "input" ? "target" : "source",
    position: socket.side === "input" ? Position.Left : Position.Right,
    x: socket.side === "input" ? 0 : layout.w,
    y: socket.y,
    width: 0,
    height: 0,
  }));
}
