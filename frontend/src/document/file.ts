import { SCHEMA, type Workflow } from "./schema";

export class WorkflowFileError extends Error {}

/** Reads the text of a workflow file.
 *
 * Unknown keys and node types stay as they are. Throws `WorkflowFileError` with words for a person.
 */
export function readWorkflow(text: string): Workflow {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new WorkflowFileError(`expected a workflow in JSON, got text that is not JSON: ${(error as Error).message}`);
  }
  return checkWorkflow(value);
}

export function checkWorkflow(value: unknown): Workflow {
  if (!isRecord(value)) throw new WorkflowFileError(`expected a workflow object, got ${nameOf(value)}`);
  const schema = value["schema"];
  if (typeof schema !== "string") throw new WorkflowFileError(`expected "schema": "${SCHEMA}", got ${nameOf(schema)}`);
  if (schema !== SCHEMA) {
    const isNewer = /^rushes\.workflow\/\d+$/.test(schema);
    throw new WorkflowFileError(
      isNewer
        ? `this workflow is "${schema}"; this editor reads "${SCHEMA}". A newer Rushes can open it.`
        : `expected "schema": "${SCHEMA}", got "${schema}"`,
    );
  }
  const graph = value["graph"];
  if (!isRecord(graph) || !isRecord(graph["nodes"])) throw new WorkflowFileError('expected "graph" with "nodes"');
  for (const [id, node] of Object.entries(graph["nodes"])) {
    if (!isRecord(node) || typeof node["type"] !== "string") {
      throw new WorkflowFileError(`node "${id}": expected an object with "type"`);
    }
  }
  for (const [id, edge] of Object.entries((graph["edges"] as Record<string, unknown>) ?? {})) {
    if (!isRecord(edge) || !isSocketRef(edge["from"]) || !isSocketRef(edge["to"])) {
      throw new WorkflowFileError(`edge "${id}": expected "from" and "to" as [node, socket]`);
    }
  }
  return value as unknown as Workflow;
}

const ROOT_ORDER = ["schema", "id", "title", "requires", "graph", "view", "ext"];
const GRAPH_ORDER = ["nodes", "edges", "frames", "notes", "subgraphs"];
const NODE_ORDER = ["type", "version", "title", "mode", "params"];
const PLACE_ORDER = ["x", "y", "w", "is_collapsed", "random"];

/** The text that is saved: keys in a fixed order, so that two versions compare line by line. */
export function writeWorkflow(doc: Workflow): string {
  const { graph, view, ...rest } = doc;
  const nodes = sorted(graph.nodes, (node) => ordered({ ...node, params: node.params && sorted(node.params) }, NODE_ORDER));
  const out = ordered(
    {
      ...rest,
      graph: ordered({ ...graph, nodes, edges: graph.edges && sorted(graph.edges) }, GRAPH_ORDER),
      view: view && { ...view, nodes: view.nodes && sorted(view.nodes, (place) => ordered(place, PLACE_ORDER)) },
    },
    ROOT_ORDER,
  );
  return `${JSON.stringify(out, null, 2)}\n`;
}

function ordered(record: object, order: readonly string[]): object {
  const rank = (key: string) => (order.includes(key) ? order.indexOf(key) : order.length);
  return Object.fromEntries(Object.entries(record).sort(([left], [right]) => rank(left) - rank(right)));
}

function sorted<T>(record: Record<string, T>, each: (value: T) => unknown = (value) => value): Record<string, unknown> {
  const keys = Object.keys(record).sort();
  return Object.fromEntries(keys.map((key) => [key, each(record[key] as T)]));
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isSocketRef = (value: unknown): boolean =>
  Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === "string");

const nameOf = (value: unknown): string =>
  value === undefined ? "nothing" : Array.isArray(value) ? "a list" : value === null ? "null" : `${typeof value}`;
