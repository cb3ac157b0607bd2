import { describe, expect, it } from "vitest";
import { arrange, hasOverlap } from "../src/document/arrange";
import { bestSocket, canLand, closesCycle, type LooseEnd } from "../src/document/connect";
import { readWorkflow, WorkflowFileError, writeWorkflow } from "../src/document/file";
import { capOf, keyMapOf } from "../src/document/keymap";
import { DEFAULT_WIDTH, HEADER, layoutNode, ROW } from "../src/document/layoutNode";
import { layoutOf } from "../src/document/layouts";
import type { Workflow } from "../src/document/schema";
import { CATALOG, chain, nodeType } from "./fixtures";

const at = (x = 0, y = 0) => ({ x, y });

describe("layoutNode", () => {
  it("gives each socket a row and each param its height, in declared order", () => {
    const layout = layoutNode(nodeType("make"), { type: "make" }, at());
    expect(layout.w).toBe(DEFAULT_WIDTH);
    expect(layout.sockets.map(({ side, name }) => `${side} ${name}`)).toEqual([
      "input model",
      "input prompt",
      "input start",
      "output video",
      "output latent",
    ]);
    const [model, prompt, , video] = layout.sockets;
    expect((prompt?.y ?? 0) - (model?.y ?? 0)).toBe(ROW);
    expect(video?.y).toBe(model?.y);
    const [steps, seed] = layout.params;
    expect((seed?.y ?? 0) - (steps?.y ?? 0)).toBe(ROW);
    expect(layout.picture?.y).toBeGreaterThan(seed?.y ?? 0);
    expect(layout.h).toBeGreaterThanOrEqual((layout.picture?.y ?? 0) + (layout.picture?.h ?? 0));
  });

  it("a collapsed node is its header, sockets and all", () => {
    const layout = layoutNode(nodeType("make"), { type: "make" }, { ...at(), is_collapsed: true });
    expect(layout.h).toBe(HEADER);
    expect(layout.params).toEqual([]);
    expect(layout.sockets.every(({ y }) => y === HEADER / 2)).toBe(true);
  });

  it("a node of unknown type shows the sockets its edges touch and its raw params", () => {
    const doc = chain();
    doc.graph.nodes["i"] = { type: "from.the.future", params: { depth: 3 } };
    const layout = layoutOf(doc, CATALOG, "i");
    expect(layout.sockets.map(({ side, name }) => `${side} ${name}`)).toEqual(["input video", "output video"]);
    expect(layout.params.map(({ name }) => name)).toEqual(["depth"]);
  });

  it("is kept while nothing that matters changes", () => {
    const doc = chain();
    const moved: Workflow = { ...doc, view: { nodes: { ...doc.view?.nodes, m: { x: 9, y: 9 } } } };
    expect(layoutOf(moved, CATALOG, "m")).toBe(layoutOf(doc, CATALOG, "m"));
  });

  it("an action node without a script has a key pad", () => {
    expect(layoutNode(nodeType("keys"), { type: "keys" }, at()).keyPad).not.toBeNull();
  });
});

describe("connecting", () => {
  const video: LooseEnd = { node: "m", socket: "video", side: "output", types: ["VIDEO"] };

  it("lands only on the other side, another node and a fitting type", () => {
    expect(canLand(video, "s", "input", ["VIDEO"])).toBe(true);
    expect(canLand(video, "s", "input", ["MASK"])).toBe(false);
    expect(canLand(video, "s", "output", ["VIDEO"])).toBe(false);
    expect(canLand(video, "m", "input", ["VIDEO"])).toBe(false);
    const start: LooseEnd = { node: "m", socket: "start", side: "input", types: ["VIDEO", "IMAGE"] };
    expect(canLand(start, "x", "output", ["IMAGE"])).toBe(true);
  });

  it("sees circles", () => {
    expect(closesCycle(chain(), { from: ["i", "video"], to: ["m", "start"] })).toBe(true);
    expect(closesCycle(chain(), { from: ["m", "video"], to: ["s", "video"] })).toBe(false);
  });

  it("picks a free socket before a taken one", () => {
    const prompt: LooseEnd = { node: "t", socket: "prompt", side: "output", types: ["PROMPT"] };
    expect(bestSocket(prompt, nodeType("make"), () => false)).toBe("prompt");
    expect(bestSocket(video, nodeType("load"), () => false)).toBeNull();
  });
});

describe("files", () => {
  it("unknown keys and node types survive a round trip", () => {
    const text = JSON.stringify({
      schema: "rushes.workflow/1",
      mood: ["blue", { deep: true }],
      graph: {
        nodes: { a: { type: "from.the.future", params: { depth: { a: [1, 2.5] } }, colour: "teal" } },
        edges: {},
        frames: { f: { any: 1 } },
      },
      ext: { other_tool: { zoom: 0.25 } },
    });
    expect(JSON.parse(writeWorkflow(readWorkflow(text)))).toEqual(JSON.parse(text));
  });

  it("writes keys in one order, however they were set", () => {
    const doc = chain();
    const { graph, ...rest } = doc;
    const nodes = Object.fromEntries(Object.entries(graph.nodes).reverse());
    expect(writeWorkflow({ graph: { ...graph, nodes }, ...rest } as Workflow)).toBe(writeWorkflow(doc));
  });

  it.each([
    ["{", /not JSON/],
    ["[]", /expected a workflow object, got a list/],
    ['{"nodes": []}', /expected "schema"/],
    ['{"schema": "rushes.workflow/2", "graph": {"nodes": {}}}', /newer Rushes/],
    ['{"schema": "rushes.workflow/1", "graph": {"nodes": {"a": {}}}}', /node "a"/],
    ['{"schema": "rushes.workflow/1", "graph": {"nodes": {}, "edges": {"e": {"from": ["a"], "to": ["b", "c"]}}}}', /edge "e"/],
  ])("refuses %s with words for a person", (text, message) => {
    expect(() => readWorkflow(text)).toThrow(WorkflowFileError);
    expect(() => readWorkflow(text)).toThrow(message);
  });
});

describe("arranging", () => {
  it("puts sources left of what they feed, without overlaps", () => {
    const doc = chain();
    const ids = Object.keys(doc.graph.nodes);
    const size = (id: string) => layoutOf(doc, CATALOG, id);
    const places = arrange(doc, ids, size);
    for (const { from, to } of Object.values(doc.graph.edges ?? {})) {
      expect(places[from[0]]?.x).toBeLessThan(places[to[0]]?.x ?? 0);
    }
    expect(hasOverlap(ids.map((id) => ({ ...(places[id] ?? at()), ...size(id) })))).toBe(false);
    expect(hasOverlap(ids.map((id) => ({ ...at(), ...size(id) })))).toBe(true);
  });
});

describe("key maps", () => {
  it("are physical keys, whatever the layout types", () => {
    expect(keyMapOf("w a, ArrowUp=w 1=fast")).toEqual({ KeyW: "w", KeyA: "a", ArrowUp: "w", Digit1: "fast" });
    expect(capOf(keyMapOf("ArrowLeft=a"), "a")).toBe("←");
    expect(capOf(keyMapOf("w a s d"), "d")).toBe("D");
  });
});
