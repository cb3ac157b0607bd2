import { describe, expect, it } from "vitest";
import {
  addNode,
  connect,
  insertOnEdge,
  moveNodes,
  paste,
  remove,
  renameNode,
  setMode,
  setParam,
  setRandom,
} from "../src/document/commands";
import { throughSockets } from "../src/document/connect";
import { copyFragment, pasteIds, readFragment } from "../src/document/fragment";
import { apply, type Command, emptyHistory, redo, undo } from "../src/document/history";
import { edgesOf, type Workflow, type WorkflowEdge } from "../src/document/schema";
import { CATALOG, chain, nodeType } from "./fixtures";

const after = (doc: Workflow, command: Command): Workflow => apply({ doc, history: emptyHistory }, command, 0).doc;
const pairs = (doc: Workflow): string[] =>
  Object.values(edgesOf(doc)).map(({ from, to }: WorkflowEdge) => `${from.join(".")}>${to.join(".")}`).sort();

describe("edges", () => {
  it("an input takes one edge: a new one replaces the old in one step", () => {
    const doc = after(chain(), addNode({ id: "t2", type: nodeType("text"), at: { x: 0, y: 400 } }));
    const edited = apply({ doc, history: emptyHistory }, connect({ from: ["t2", "prompt"], to: ["m", "prompt"] }), 0);
    expect(pairs(edited.doc)).toContain("t2.prompt>m.prompt");
    expect(pairs(edited.doc)).not.toContain("t.prompt>m.prompt");
    expect(edited.history.done).toHaveLength(1);
    expect(pairs(undo(edited).doc)).toEqual(pairs(doc));
  });

  it("connecting what is connected leaves no step", () => {
    const state = { doc: chain(), history: emptyHistory };
    expect(apply(state, connect({ from: ["t", "prompt"], to: ["m", "prompt"] }), 0)).toBe(state);
  });

  it("moving an edge takes it off its old input", () => {
    const edited = after(chain(), connect({ from: ["m", "video"], to: ["s", "video"] }, "e3"));
    expect(pairs(edited)).toEqual(["l.model>m.model", "m.video>s.video", "t.prompt>m.prompt"]);
  });

  it("a node is inserted on an edge through sockets of its type", () => {
    const through = throughSockets(nodeType("tint"), "VIDEO");
    const edited = after(
      chain(),
      insertOnEdge("e4", { id: "x", type: nodeType("tint"), at: { x: 0, y: 0 } }, through ?? { input: "", output: "" }),
    );
    expect(pairs(edited)).toEqual(expect.arrayContaining(["i.video>x.video", "x.video>s.video"]));
    expect(pairs(edited)).not.toContain("i.video>s.video");
  });
});

describe("deleting", () => {
  it("heals the flow where types allow", () => {
    const edited = after(chain(), remove(chain(), { nodes: ["i"], edges: [] }, CATALOG, { isHealing: true }));
    expect(pairs(edited)).toContain("m.video>s.video");
    expect(edited.view?.nodes).not.toHaveProperty("i");
  });

  it("does not heal when asked not to, nor across types", () => {
    const raw = after(chain(), remove(chain(), { nodes: ["i"], edges: [] }, CATALOG, { isHealing: false }));
    expect(pairs(raw)).toEqual(["l.model>m.model", "t.prompt>m.prompt"]);
    const made = after(chain(), remove(chain(), { nodes: ["m"], edges: [] }, CATALOG, { isHealing: true }));
    expect(pairs(made)).toEqual(["i.video>s.video"]);
  });
});

describe("params and views", () => {
  it("an unlocked seed is editor state: the graph does not change", () => {
    const doc = chain();
    const unlocked = after(doc, setRandom("m", "seed", true));
    expect(unlocked.graph).toBe(doc.graph);
    expect(unlocked.view?.nodes?.["m"]?.random).toEqual(["seed"]);
    const locked = after(unlocked, setRandom("m", "seed", false, 99));
    expect(locked.view?.nodes?.["m"]?.random).toBeUndefined();
    expect(locked.graph.nodes["m"]?.params?.["seed"]).toBe(99);
  });

  it("moving a node leaves the graph as it was", () => {
    const doc = chain();
    expect(after(doc, moveNodes({ m: { x: 8, y: 16 } })).graph).toBe(doc.graph);
  });

  it("an empty title goes back to the type's name", () => {
    const named = after(chain(), renameNode("m", "Hero shot"));
    expect(named.graph.nodes["m"]?.title).toBe("Hero shot");
    expect(after(named, renameNode("m", "")).graph.nodes["m"]).not.toHaveProperty("title");
  });

  it("modes and params reach only the nodes named", () => {
    const edited = after(after(chain(), setMode(["i"], "bypassed")), setParam("m", "step_count", 8));
    expect(edited.graph.nodes["i"]?.mode).toBe("bypassed");
    expect(edited.graph.nodes["m"]?.params).toEqual({ step_count: 8, seed: 7 });
    expect(edited.graph.nodes["s"]?.mode).toBeUndefined();
  });
});

describe("copy and paste", () => {
  const pasted = (isKeepingInputs: boolean) => {
    const doc = chain();
    const fragment = readFragment(JSON.stringify(copyFragment(doc, ["m", "i"])));
    if (!fragment) throw new Error("the fragment must survive as text");
    const ids = pasteIds(doc, fragment);
    return { ids, doc: after(doc, paste({ fragment, at: { x: 100, y: 50 }, ids, isKeepingInputs })) };
  };

  it("carries the nodes, the edges among them, and their places relative to each other", () => {
    const { ids, doc } = pasted(false);
    const { m = "", i = "" } = ids;
    expect(pairs(doc)).toContain(`${m}.video>${i}.video`);
    expect(pairs(doc)).not.toContain(`l.model>${m}.model`);
    expect(doc.view?.nodes?.[m]).toMatchObject({ x: 100, y: 50 });
    expect(doc.view?.nodes?.[i]).toMatchObject({ x: 440, y: 50 });
    expect(doc.graph.nodes[m]?.params).toEqual({ step_count: 4, seed: 7 });
  });

  it("keeps the edges that come in when asked to", () => {
    const { ids, doc } = pasted(true);
    expect(pairs(doc)).toContain(`l.model>${ids["m"]}.model`);
  });

  it("takes only its own text from the clipboard", () => {
    expect(readFragment("rushes.fragment/1 is a fine thing")).toBeNull();
    expect(readFragment('{"nodes": {}}')).toBeNull();
  });
});

describe("history", () => {
  it("typing in one field is one step while the pauses are short", () => {
    let state = { doc: chain(), history: emptyHistory };
    for (const [at, text] of [[0, "a"], [300, "ab"], [900, "abc"]] as const) state = apply(state, setParam("t", "text", text), at);
    expect(state.history.done).toHaveLength(1);
    state = apply(state, setParam("t", "text", "abcd"), 2000);
    expect(state.history.done).toHaveLength(2);
    expect(undo(undo(state)).doc.graph.nodes["t"]?.params?.["text"]).toBe("a star");
  });

  it("an edit after an undo starts a step of its own and drops what was undone", () => {
    let state = { doc: chain(), history: emptyHistory };
    state = apply(state, setParam("t", "text", "one"), 0);
    state = apply(state, renameNode("m", "Shot"), 100);
    state = undo(state);
    state = apply(state, setParam("t", "text", "two"), 200);
    expect(state.history.undone).toHaveLength(0);
    expect(undo(state).doc.graph.nodes["t"]?.params?.["text"]).toBe("one");
    expect(redo(state)).toBe(state);
  });
});
