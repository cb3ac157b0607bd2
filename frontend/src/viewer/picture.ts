import { inputOf } from "../document/catalog";
import { edgesOf, type Workflow } from "../document/schema";
import { useDocuments } from "../state/documents";
import { isActive, latestRun, type Run, shownRun, useRuns } from "../state/runs";
import { useServer } from "../state/server";
import { assetUrl } from "../transport/rest";
import { streamKey } from "../transport/protocol";
import type { Catalog } from "../document/catalog";

/** What there is to see of a node. */
export type Picture =
  | { kind: "stream"; key: string; jobId: string; nodeId: string; isRollout: boolean; isRunning: boolean }
  | { kind: "video" | "image"; url: string; name: string; frameCount: number; fps: number; isStale: boolean; isAsset: boolean };

type RunsState = ReturnType<typeof useRuns.getState>;

const isPictureType = (type: string) => type === "VIDEO" || type === "IMAGE";

/** The nodes whose picture stands for `nodeId`, nearest first: itself, then what feeds it pictures. */
function sources(doc: Workflow, catalog: Catalog, nodeId: string): string[] {
  const found: string[] = [];
  const open = [nodeId];
  const edges = Object.values(edgesOf(doc));
  for (let id = open.shift(); id !== undefined; id = open.shift()) {
    if (found.includes(id)) continue;
    found.push(id);
    const type = catalog[doc.graph.nodes[id]?.type ?? ""];
    for (const edge of edges) {
      if (edge.to[0] === id && inputOf(type, edge.to[1])?.types.some(isPictureType)) open.push(edge.from[0]);
    }
  }
  return found;
}

function artifactOf(run: Run | null, nodeId: string, isStale: boolean): Picture | null {
  const artifact = run?.artifacts[nodeId]?.at(-1);
  if (!artifact) return null;
  return {
    kind: artifact.media_type.startsWith("video/") ? "video" : "image",
    url: artifact.url,
    name: artifact.name,
    frameCount: artifact.frame_count,
    fps: artifact.fps ?? 0,
    isStale,
    isAsset: false,
  };
}

function streamOf(run: Run | null, nodeId: string): Picture | null {
  const node = run?.nodes[nodeId];
  if (!run || !node?.hasStream) return null;
  return {
    kind: "stream",
    key: streamKey(run.jobId, nodeId),
    jobId: run.jobId,
    nodeId,
    isRollout: node.isRollout,
    isRunning: run.state === "running" && node.state === "running",
  };
}

/** What an output node made of this node's picture in the same run: the finished clip in place of the last preview. */
function finishedBy(run: Run | null, doc: Workflow, catalog: Catalog, nodeId: string): Picture | null {
  if (!run) return null;
  for (const { from, to } of Object.values(edgesOf(doc))) {
    const isOutput = catalog[doc.graph.nodes[to[0]]?.type ?? ""]?.is_output;
    const made = isOutput && from[0] === nodeId ? artifactOf(run, to[0], false) : null;
    if (made?.kind === "video") return made;
  }
  return null;
}

/** A node shows its own artifact or stream; an output that has none yet in this run shows what feeds it. */
function pictureOf(state: RunsState, uid: string, doc: Workflow, catalog: Catalog, nodeId: string): Picture | null {
  const own = shownRun(state, uid, nodeId);
  const latest = latestRun(state, uid);
  const isBehind = latest !== null && own !== latest && isActive(latest);
  const mine = artifactOf(own, nodeId, isBehind) ?? finishedBy(own, doc, catalog, nodeId) ?? streamOf(own, nodeId);
  if (!catalog[doc.graph.nodes[nodeId]?.type ?? ""]?.is_output) return mine;
  if (mine && !isBehind) return mine;
  if (latest && isActive(latest)) {
    for (const id of sources(doc, catalog, nodeId).slice(1)) {
      const stream = latest.nodes[id] ? streamOf(latest, id) : null;
      if (stream) return stream;
    }
  }
  return mine;
}

const PARAM_KINDS = { images: "image", videos: "video" } as const;

function assetOf(doc: Workflow, catalog: Catalog, nodeId: string): { kind: "image" | "video"; name: string } | null {
  const node = doc.graph.nodes[nodeId];
  const param = catalog[node?.type ?? ""]?.params.find(({ choices_from: from }) => from === "images" || from === "videos");
  if (!node || !param) return null;
  const name = node.params?.[param.name] ?? param.default;
  return typeof name === "string" && name ? { kind: PARAM_KINDS[param.choices_from as "images" | "videos"], name } : null;
}

/** One string that changes when the picture does, so that a store update draws a node again only then. */
const describe = (picture: Picture | null): string => (picture ? JSON.stringify(picture) : "");

export function usePicture(uid: string, nodeId: string): Picture | null {
  const doc = useDocuments((state) => state.documents[uid]?.doc);
  const catalog = useServer((state) => state.catalog);
  const made = useRuns((state) => (doc ? describe(pictureOf(state, uid, doc, catalog, nodeId)) : ""));
  const asset = doc ? assetOf(doc, catalog, nodeId) : null;
  const known = useServer((state) => (asset ? state.assets.find((candidate) => candidate.asset === asset.name) : undefined));
  if (made) return JSON.parse(made) as Picture;
  if (!asset || !known) return null;
  const { kind, name } = asset;
  const facts = { frameCount: known.frame_count, fps: known.fps, isStale: false, isAsset: true };
  return { kind, url: assetUrl(name), name, ...facts };
}

/** The node the viewer follows by itself: one whose picture is being made now, else what the run made last, else its last
 * preview. */
export function followed(state: RunsState, uid: string): string | null {
  const run = latestRun(state, uid);
  if (!run) return null;
  const nodes = Object.entries(run.nodes);
  const atWork = nodes.find(([, node]) => node.hasStream && node.state === "running");
  if (atWork && isActive(run)) return atWork[0];
  const made = Object.keys(run.artifacts).at(-1);
  if (made !== undefined) return made;
  const seen = nodes.filter(([, node]) => node.hasStream).sort(([, left], [, right]) => left.startedAt - right.startedAt);
  if (seen.length) return seen.at(-1)?.[0] ?? null;
  return previousPicture(state, uid);
}

/** While a new run has nothing to show yet, the picture of the one before stays. */
function previousPicture(state: RunsState, uid: string): string | null {
  for (const jobId of (state.byDocument[uid] ?? []).slice(1)) {
    const made = Object.keys(state.runs[jobId]?.artifacts ?? {}).at(-1);
    if (made !== undefined && state.shown[uid]?.[made] === jobId) return made;
  }
  return null;
}
