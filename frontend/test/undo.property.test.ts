import { describe, expect, it } from "vitest";
import {
  addNode,
  connect,
  moveNodes,
  paste,
  remove,
  renameNode,
  setCollapsed,
  setMode,
  setParam,
  setRandom,
  setTitle,
} from "../src/document/commands";
import { writeWorkflow } from "../src/document/file";
import { copyFragment, pasteIds } from "../src/document/fragment";
import { apply, type Command, type Edited, emptyHistory, redo, undo } from "../src/document/history";
import { freshId } from "../src/document/ids";
import { edgesOf, type SocketRef } from "../src/document/schema";
import { CATALOG, chain, nodeType } from "./fixtures";

type Random = () => number;

/** Mulberry32: a small seeded generator, so that a failure can be run again. */
function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

function randomCommand({ doc }: Edited, random: Random): Command {
  const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
  const nodeId = pick(Object.keys(doc.graph.nodes)) ?? "none";
  const edgeId = pick(Object.keys(edgesOf(doc)));
  const point = { x: random() * 2000, y: random() * 2000 };
  const types = Object.values(CATALOG);
  const ends = Object.entries(doc.graph.nodes).flatMap(([id, node]) =>
    nodeType(node.type).outputs.map((socket): SocketRef => [id, socket.name]),
  );
  const inputs = Object.entries(doc.graph.nodes).flatMap(([id, node]) =>
    nodeType(node.type).inputs.map((socket): SocketRef => [id, socket.name]),
  );
  const from = pick(ends);
  const to = pick(inputs);
  const makers: (() => Command)[] = [
    () => addNode({ id: freshId("n", doc.graph.nodes), type: pick(types) ?? nodeType("load"), at: point }),
    () => (from && to ? connect({ from, to }, random() < 0.2 ? edgeId : undefined) : setTitle("no sockets")),
    () => remove(doc, { nodes: [nodeId], edges: edgeId ? [edgeId] : [] }, CATALOG, { isHealing: random() < 0.5 }),
    () => setParam(nodeId, pick(["seed", "text", "step_count"]) ?? "seed", Math.floor(random() * 100)),
    () => renameNode(nodeId, random() < 0.3 ? "" : `title ${Math.floor(random() * 9)}`),
    () => moveNodes({ [nodeId]: point }),
    () => setMode([nodeId], pick(["active", "muted", "bypassed"] as const) ?? "active"),
    () => setCollapsed([nodeId], random() < 0.5),
    () => setRandom(nodeId, "seed", random() < 0.5),
    () => setTitle(`workflow ${Math.floor(random() * 9)}`),
    () => {
      const fragment = copyFragment(doc, Object.keys(doc.graph.nodes).slice(0, 3));
      return fragment
        ? paste({ fragment, at: point, ids: pasteIds(doc, fragment), isKeepingInputs: random() < 0.5 })
        : setTitle("nothing to copy");
    },
  ];
  return (pick(makers) ?? makers[0])?.() ?? setTitle("never");
}

describe("undo", () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])("of any edits returns the same document, redo the same result (seed %i)", (seed) => {
    const random = seeded(seed);
    const first = chain();
    let state: Edited = { doc: first, history: emptyHistory };
    let now = 0;
    for (let count = 0; count < 250; count += 1) {
      now += random() * 1200;
      state = apply(state, randomCommand(state, random), now);
      if (random() < 0.1) state = undo(state);
      if (random() < 0.05) state = redo(state);
    }
    const last = writeWorkflow(state.doc);
    const steps = state.history.done.length;
    for (let count = 0; count < steps; count += 1) state = undo(state);
    expect(writeWorkflow(state.doc)).toBe(writeWorkflow(first));
    for (let count = 0; count < steps; count += 1) state = redo(state);
    expect(writeWorkflow(state.doc)).toBe(last);
  });
});
