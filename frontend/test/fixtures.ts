import type { Catalog, NodeType } from "../src/document/catalog";
import type { Workflow } from "../src/document/schema";

const param = (name: string, more: Partial<NodeType["params"][number]> = {}): NodeType["params"][number] => ({
  name,
  kind: "INT",
  default: 1,
  minimum: null,
  maximum: null,
  step: null,
  multiline: false,
  choices: null,
  choices_from: null,
  unit: null,
  doc: "",
  live: false,
  widget: "number",
  max_length: null,
  ...more,
});

const type = (type_id: string, more: Partial<NodeType>): NodeType => ({
  type_id,
  version: 1,
  category: "test",
  title: type_id,
  doc: `What ${type_id} does.`,
  inputs: [],
  outputs: [],
  params: [],
  is_output: false,
  ...more,
});

const socket = (name: string, ...types: string[]) => ({ name, types, optional: false, doc: "" });
const optional = (name: string, ...types: string[]) => ({ ...socket(name, ...types), optional: true });
const out = (name: string, valueType: string) => ({ name, type: valueType, doc: "" });

const TYPES: NodeType[] = [
  type("load", { outputs: [out("model", "MODEL")] }),
  type("text", { outputs: [out("prompt", "PROMPT")], params: [param("text", { kind: "TEXT", default: "", widget: "textarea" })] }),
  type("make", {
    inputs: [socket("model", "MODEL"), socket("prompt", "PROMPT"), optional("start", "VIDEO", "IMAGE")],
    outputs: [out("video", "VIDEO"), out("latent", "LATENT")],
    params: [param("step_count", { minimum: 1, maximum: 50 }), param("seed", { widget: "seed" })],
  }),
  type("tint", { inputs: [socket("video", "VIDEO")], outputs: [out("video", "VIDEO")] }),
  type("save", { inputs: [socket("video", "VIDEO")], is_output: true }),
  type("keys", { outputs: [out("actions", "CONTROL")], params: [param("keymap", { kind: "TEXT", default: "w a s d", widget: "text" })] }),
];

export const CATALOG: Catalog = Object.fromEntries(TYPES.map((each) => [each.type_id, each]));

export const nodeType = (id: string): NodeType => CATALOG[id] as NodeType;

/** load, text -> make -> tint -> save */
export const chain = (): Workflow => ({
  schema: "rushes.workflow/1",
  title: "Chain",
  graph: {
    nodes: {
      l: { type: "load", version: 1, params: {} },
      t: { type: "text", version: 1, params: { text: "a star" } },
      m: { type: "make", version: 1, params: { step_count: 4, seed: 7 } },
      i: { type: "tint", version: 1, params: {} },
      s: { type: "save", version: 1, params: {} },
    },
    edges: {
      e1: { from: ["l", "model"], to: ["m", "model"] },
      e2: { from: ["t", "prompt"], to: ["m", "prompt"] },
      e3: { from: ["m", "video"], to: ["i", "video"] },
      e4: { from: ["i", "video"], to: ["s", "video"] },
    },
  },
  view: {
    nodes: { l: { x: 0, y: 0 }, t: { x: 0, y: 200 }, m: { x: 340, y: 0 }, i: { x: 680, y: 0 }, s: { x: 1020, y: 0 } },
  },
});
