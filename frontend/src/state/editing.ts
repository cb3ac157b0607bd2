/** Edits that need to know what is selected, shown or on the clipboard. Each is one command of the document core. */
import {
  addNode,
  insertOnEdge,
  moveNodes,
  paste,
  type Point,
  remove,
  setCollapsed,
  setMode,
} from "../document/commands";
import { arrange, hasOverlap } from "../document/arrange";
import type { NodeType } from "../document/catalog";
import { bestSocket, edgeBetween, type LooseEnd, throughSockets } from "../document/connect";
import { copyFragment, type Fragment, fragmentOrigin, pasteIds } from "../document/fragment";
import { freshId } from "../document/ids";
import { layoutOf } from "../document/layouts";
import { edgesOf, type NodeMode, modeOf, viewOf, type Workflow } from "../document/schema";
import { t } from "../i18n";
import { documentOf, redoEdit, runCommand, undoEdit } from "./documents";
import { speak } from "./notices";
import { noteRecentType } from "./prefs";
import { catalogNow } from "./server";
import { stage } from "./stage";
import { select, viewOfDocument } from "./view";

const sizeIn = (doc: Workflow) => (id: string) => layoutOf(doc, catalogNow(), id);

export function insertNode(uid: string, type: NodeType, at: Point, end: LooseEnd | null, edgeId: string | null): void {
  const doc = documentOf(uid)?.doc;
  if (!doc) return;
  const id = freshId("n", doc.graph.nodes);
  noteRecentType(type.type_id);
  const edge = edgeId === null ? undefined : edgesOf(doc)[edgeId];
  const valueType = edge && catalogNow()[doc.graph.nodes[edge.from[0]]?.type ?? ""]?.outputs.find(({ name }) => name === edge.from[1])?.type;
  const through = valueType ? throughSockets(type, valueType) : null;
  if (edgeId !== null && through) {
    runCommand(uid, insertOnEdge(edgeId, { id, type, at }, through));
  } else {
    const socket = end && bestSocket(end, type, () => false);
    const laid = end && socket ? edgeBetween(end, [id, socket]) : undefined;
    runCommand(uid, addNode({ id, type, at: shifted(type, at, end), ...(laid ? { edge: laid } : {}) }));
  }
  select(uid, [id]);
  speak(t("Added {title}", { title: type.title }));
}

/** A node dropped with an edge stands so that its socket is near the pointer: right of an output, left of an input. */
function shifted(type: NodeType, at: Point, end: LooseEnd | null): Point {
  if (!end) return { x: at.x - 128, y: at.y - 16 };
  return { x: end.side === "output" ? at.x + 12 : at.x - 268, y: at.y - 48 - (type.inputs.length ? 0 : 8) };
}

export function deleteSelection(uid: string, isHealing = true): void {
  const doc = documentOf(uid)?.doc;
  const { nodes, edges } = viewOfDocument(uid);
  if (!doc || !(nodes.length + edges.length)) return;
  runCommand(uid, remove(doc, { nodes, edges }, catalogNow(), { isHealing }));
  select(uid, []);
}

export function deleteEdge(uid: string, edgeId: string): void {
  const doc = documentOf(uid)?.doc;
  if (doc) runCommand(uid, remove(doc, { nodes: [], edges: [edgeId] }, catalogNow(), { isHealing: false }));
}

export function copySelection(uid: string): Fragment | null {
  const doc = documentOf(uid)?.doc;
  return doc ? copyFragment(doc, viewOfDocument(uid).nodes) : null;
}

export function pasteFragment(uid: string, fragment: Fragment, at: Point, isKeepingInputs = false, label?: string): void {
  const doc = documentOf(uid)?.doc;
  if (!doc) return;
  const ids = pasteIds(doc, fragment);
  runCommand(uid, paste({ fragment, at, ids, isKeepingInputs, ...(label ? { label } : {}) }));
  select(uid, Object.values(ids));
}

const DUPLICATE_SHIFT = 32;

export function duplicateSelection(uid: string): void {
  const doc = documentOf(uid)?.doc;
  const fragment = copySelection(uid);
  if (!doc || !fragment) return;
  const origin = fragmentOrigin(doc, Object.keys(fragment.nodes));
  const at = { x: origin.x + DUPLICATE_SHIFT, y: origin.y + DUPLICATE_SHIFT };
  pasteFragment(uid, fragment, at, true, t("Duplicate"));
}

export function toggleMode(uid: string, mode: NodeMode, nodeIds = viewOfDocument(uid).nodes): void {
  const doc = documentOf(uid)?.doc;
  if (!doc || !nodeIds.length) return;
  const isAll = nodeIds.every((id) => doc.graph.nodes[id] && modeOf(doc.graph.nodes[id]) === mode);
  runCommand(uid, setMode(nodeIds, isAll ? "active" : mode));
}

export function toggleCollapsed(uid: string, nodeIds = viewOfDocument(uid).nodes): void {
  const doc = documentOf(uid)?.doc;
  if (!doc || !nodeIds.length) return;
  runCommand(uid, setCollapsed(nodeIds, !nodeIds.every((id) => viewOf(doc, id).is_collapsed)));
}

/** Lines up the selection, or the whole graph, along the flow; its top left corner stays. */
export function tidy(uid: string): void {
  const doc = documentOf(uid)?.doc;
  if (!doc) return;
  const chosen = viewOfDocument(uid).nodes;
  const ids = chosen.length > 1 ? chosen : Object.keys(doc.graph.nodes);
  if (!ids.length) return;
  runCommand(uid, moveNodes(placesFor(doc, ids), t("Tidy")));
}

function placesFor(doc: Workflow, ids: readonly string[]): Record<string, Point> {
  const origin = fragmentOrigin(doc, ids);
  const places = arrange(doc, ids, sizeIn(doc));
  return Object.fromEntries(
    Object.entries(places).map(([id, { x, y }]) => [id, { x: x + origin.x, y: y + origin.y }]),
  );
}

/** A document as it is first shown: nodes without a place get one; with `isTemplate` overlapping boxes are tidied. */
export function placed(doc: Workflow, isTemplate = false): Workflow {
  const ids = Object.keys(doc.graph.nodes);
  const isLost = ids.some((id) => !doc.view?.nodes?.[id]);
  const boxes = ids.map((id) => ({ ...viewOf(doc, id), ...sizeIn(doc)(id) }));
  if (!isLost && !(isTemplate && hasOverlap(boxes))) return doc;
  const places = arrange(doc, ids, sizeIn(doc));
  const nodes = Object.fromEntries(ids.map((id) => [id, { ...doc.view?.nodes?.[id], ...places[id] } as Point]));
  return { ...doc, view: { ...doc.view, nodes: { ...doc.view?.nodes, ...nodes } } };
}

export function undoAndReveal(uid: string): void {
  const label = documentOf(uid)?.history.done.at(-1)?.label;
  if (!label) return;
  stage()?.reveal(undoEdit(uid));
  speak(t("Undone: {label}", { label }));
}

export function redoAndReveal(uid: string): void {
  const label = documentOf(uid)?.history.undone.at(-1)?.label;
  if (!label) return;
  stage()?.reveal(redoEdit(uid));
  speak(t("Redone: {label}", { label }));
}

export function selectAll(uid: string): void {
  const doc = documentOf(uid)?.doc;
  if (doc) select(uid, Object.keys(doc.graph.nodes));
}
