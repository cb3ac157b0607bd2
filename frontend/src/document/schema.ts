/** The workflow document, `rushes.workflow/1`. Pure data: this folder knows no DOM, React or drawing library. */

export const SCHEMA = "rushes.workflow/1";

export type ParamValue = number | string | boolean | null | ParamValue[] | { [key: string]: ParamValue };
export type NodeMode = "active" | "muted" | "bypassed";

/** `[node_id, socket name]`. */
export type SocketRef = [node: string, socket: string];

export interface WorkflowNode {
  type: string;
  version?: number;
  title?: string | null;
  mode?: NodeMode;
  params?: Record<string, ParamValue>;
}

export interface WorkflowEdge {
  from: SocketRef;
  to: SocketRef;
}

export interface Graph {
  nodes: Record<string, WorkflowNode>;
  edges?: Record<string, WorkflowEdge>;
  frames?: Record<string, unknown>;
  notes?: Record<string, unknown>;
  subgraphs?: Record<string, unknown>;
}

export interface NodeView {
  x: number;
  y: number;
  /** Width in canvas units; absent means the default width. */
  w?: number;
  is_collapsed?: boolean;
  /** Names of seed params that take a new number each run. */
  random?: string[];
}

export interface Camera {
  x: number;
  y: number;
  zoom: number;
}

export interface WorkflowView {
  nodes?: Record<string, NodeView>;
  camera?: Camera;
}

export interface Workflow {
  schema: string;
  id?: string;
  title?: string;
  requires?: unknown;
  graph: Graph;
  view?: WorkflowView;
  ext?: unknown;
}

export const edgesOf = (doc: Workflow): Record<string, WorkflowEdge> => doc.graph.edges ?? NO_EDGES;
export const viewOf = (doc: Workflow, nodeId: string): NodeView => doc.view?.nodes?.[nodeId] ?? ORIGIN;
export const modeOf = (node: WorkflowNode): NodeMode => node.mode ?? "active";

const NO_EDGES: Record<string, WorkflowEdge> = Object.freeze({});
const ORIGIN: NodeView = Object.freeze({ x: 0, y: 0 });

export const emptyWorkflow = (title: string): Workflow => ({
  schema: SCHEMA,
  title,
  graph: { nodes: {}, edges: {} },
  view: { nodes: {} },
});
