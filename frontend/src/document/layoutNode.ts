import { hasKeyPad, hasPicture, type NodeType, type Param, type Side } from "./catalog";
import type { NodeView, WorkflowNode } from "./schema";

/** Where everything on a node lies, in canvas units, from its declaration alone. Drawing, hit-testing, the minimap and
 * tidy all read this, so that no node has to be mounted to know its size. */
export interface NodeLayout {
  w: number;
  h: number;
  sockets: SocketPlace[];
  params: ParamPlace[];
  picture: Box | null;
  keyPad: Box | null;
}

export interface SocketPlace {
  side: Side;
  name: string;
  type: string;
  isOptional: boolean;
  doc: string;
  /** Centre, from the node's top. */
  y: number;
}

export interface ParamPlace extends Box {
  name: string;
  param: Param | null;
}

export interface Box {
  y: number;
  h: number;
}

export const HEADER = 32;
export const ROW = 24;
export const GAP = 6;
export const DEFAULT_WIDTH = 256;
export const MIN_WIDTH = 192;
export const TEXT_ROWS = 76;
export const KEY_PAD = 84;
const PICTURE_ASPECT = 3 / 4;
const PICTURE_INSET = 8;

export interface SocketUse {
  inputs: readonly string[];
  outputs: readonly string[];
}

/** `used` names the sockets that edges touch: a node of unknown type shows those, so that its edges have an end. */
export function layoutNode(
  type: NodeType | undefined,
  node: WorkflowNode,
  view: NodeView,
  used: SocketUse = { inputs: [], outputs: [] },
): NodeLayout {
  const w = Math.max(view.w ?? DEFAULT_WIDTH, MIN_WIDTH);
  const sockets = placeSockets(type, used, view.is_collapsed ?? false);
  if (view.is_collapsed) return { w, h: HEADER, sockets, params: [], picture: null, keyPad: null };

  const rows = Math.max(count(sockets, "input"), count(sockets, "output"));
  let y = HEADER + (rows ? GAP / 2 + rows * ROW : 0) + GAP / 2;
  const params: ParamPlace[] = [];
  for (const [name, param] of paramsOf(type, node)) {
    const h = heightOf(param);
    params.push({ name, param, y, h });
    y += h;
  }
  let keyPad: Box | null = null;
  let picture: Box | null = null;
  if (type && hasKeyPad(type)) {
    keyPad = { y: y + GAP / 2, h: KEY_PAD };
    y += KEY_PAD + GAP;
  }
  if (type && hasPicture(type)) {
    const h = Math.round((w - 2 * PICTURE_INSET) * PICTURE_ASPECT);
    picture = { y: y + GAP / 2, h };
    y += h + GAP;
  }
  return { w, h: Math.round(y + GAP / 2), sockets, params, picture, keyPad };
}

function placeSockets(type: NodeType | undefined, used: SocketUse, isCollapsed: boolean): SocketPlace[] {
  const inputs = type
    ? type.inputs.map(({ name, types, optional, doc }) => ({ name, type: types[0] ?? "ANY", isOptional: optional, doc }))
    : used.inputs.map(unknownSocket);
  const outputs = type
    ? type.outputs.map(({ name, type: valueType, doc }) => ({ name, type: valueType, isOptional: false, doc }))
    : used.outputs.map(unknownSocket);
  const yAt = (index: number) => (isCollapsed ? HEADER / 2 : HEADER + GAP / 2 + index * ROW + ROW / 2);
  return [
    ...inputs.map((socket, index) => ({ ...socket, side: "input" as const, y: yAt(index) })),
    ...outputs.map((socket, index) => ({ ...socket, side: "output" as const, y: yAt(index) })),
  ];
}

const unknownSocket = (name: string) => ({ name, type: "ANY", isOptional: true, doc: "" });

function paramsOf(type: NodeType | undefined, node: WorkflowNode): [string, Param | null][] {
  if (type) return type.params.map((param) => [param.name, param]);
  return Object.keys(node.params ?? {}).map((name) => [name, null]);
}

const heightOf = (param: Param | null): number =>
  param && (param.widget === "textarea" || param.widget === "script") ? TEXT_ROWS : ROW;

const count = (sockets: readonly SocketPlace[], side: Side): number =>
  sockets.filter((socket) => socket.side === side).length;
