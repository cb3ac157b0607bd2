import type { NodeInput, NodeOutput, NodeParam, NodeType } from "../wire/api";
import type { ParamValue, WorkflowNode } from "./schema";

export type { NodeType };
export type Param = NodeParam;
export type ChoicesFrom = NonNullable<NodeParam["choices_from"]>;
export type Catalog = Record<string, NodeType>;
export type Side = "input" | "output";

export const inputOf = (type: NodeType | undefined, name: string): NodeInput | undefined =>
  type?.inputs.find((socket) => socket.name === name);

export const outputOf = (type: NodeType | undefined, name: string): NodeOutput | undefined =>
  type?.outputs.find((socket) => socket.name === name);

export const paramOf = (type: NodeType | undefined, name: string): Param | undefined =>
  type?.params.find((param) => param.name === name);

/** Whether a value of `outputType` may enter a socket that takes `inputTypes`. */
export const fits = (outputType: string, inputTypes: readonly string[]): boolean =>
  inputTypes.includes(outputType) || inputTypes.includes("ANY");

/** The value a node runs with: what the document says, else the declared default. */
export const valueOf = (node: WorkflowNode, param: Param): ParamValue => node.params?.[param.name] ?? (param.default as ParamValue);

export function defaultParams(type: NodeType): Record<string, ParamValue> {
  return Object.fromEntries(type.params.map((param) => [param.name, param.default as ParamValue]));
}

/** Nodes with moving pictures show them in a box on their body. */
export function hasPicture(type: NodeType): boolean {
  const isPicture = (name: string) => name === "VIDEO" || name === "IMAGE";
  return (
    type.outputs.some((socket) => isPicture(socket.type)) ||
    (type.is_output && type.inputs.some((socket) => socket.types.some(isPicture)))
  );
}

/** A node that turns held keys into actions shows a key pad. */
export const hasKeyPad = (type: NodeType): boolean =>
  type.outputs.some((socket) => socket.type === "CONTROL") && !type.params.some((param) => param.widget === "script");

export const titleOf = (node: WorkflowNode, type: NodeType | undefined): string =>
  node.title || type?.title || node.type;

/** A param's value as a person reads it in one line. */
export const paramValueText = (value: ParamValue | undefined): string =>
  typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);

/** A param's name as a label: words apart, without the unit that stands beside the value. */
export function labelOf(param: Param): string {
  const unit = param.unit && param.name.endsWith(`_${param.unit}`) ? `_${param.unit}` : "";
  return param.name.slice(0, param.name.length - unit.length).replaceAll("_", " ");
}
