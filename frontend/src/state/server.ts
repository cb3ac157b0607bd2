import { create } from "zustand";
import type { Catalog, ChoicesFrom } from "../document/catalog";
import type { LinkState } from "../transport/messages";
import { ApiError, rest } from "../transport/rest";
import type { Adapter, Asset, Checkpoint, Job, SystemReply, Template, Workflow } from "../wire/api";

/** What the server last said. The server is the truth; this is a copy to draw from. */
export interface ServerCache {
  catalog: Catalog;
  hasCatalog: boolean;
  checkpoints: readonly Checkpoint[];
  adapters: readonly Adapter[];
  assets: readonly Asset[];
  templates: readonly Template[];
  workflows: readonly Workflow[];
  jobs: readonly Job[];
  system: SystemReply | null;
  link: LinkState;
}

export const useServer = create<ServerCache>(() => ({
  catalog: {},
  hasCatalog: false,
  checkpoints: [],
  adapters: [],
  assets: [],
  templates: [],
  workflows: [],
  jobs: [],
  system: null,
  link: "connecting",
}));

export const catalogNow = (): Catalog => useServer.getState().catalog;
export const useNodeType = (typeId: string) => useServer((state) => state.catalog[typeId]);

const set = (change: Partial<ServerCache>): void => useServer.setState(change);

export const setLink = (link: LinkState): void => set({ link });

/** A server that is away is not an error of these lists: they keep what they had until it is back. */
async function keepingOld(load: () => Promise<void>): Promise<void> {
  try {
    await load();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

export const refresh = {
  catalog: () => keepingOld(async () => set({ catalog: (await rest.nodes()).nodes, hasCatalog: true })),
  models: () => keepingOld(async () => set({ checkpoints: (await rest.models()).checkpoints })),
  adapters: () => keepingOld(async () => set({ adapters: (await rest.adapters()).adapters })),
  assets: () => keepingOld(async () => set({ assets: (await rest.assets()).assets })),
  templates: () => keepingOld(async () => set({ templates: (await rest.templates()).templates })),
  workflows: () => keepingOld(async () => set({ workflows: (await rest.workflows()).workflows })),
  jobs: () => keepingOld(async () => set({ jobs: (await rest.jobs()).jobs })),
  system: () => keepingOld(async () => set({ system: await rest.system() })),
};

export const refreshAll = (): Promise<void[]> => Promise.all(Object.values(refresh).map((load) => load()));

export function choicesFor(cache: ServerCache, from: ChoicesFrom): string[] {
  switch (from) {
    case "checkpoints":
      return cache.checkpoints.map((checkpoint) => checkpoint.checkpoint);
    case "adapters":
      return cache.adapters.map((adapter) => adapter.adapter);
    case "images":
      return cache.assets.filter((asset) => asset.kind === "image").map((asset) => asset.asset);
    case "videos":
      return cache.assets.filter((asset) => asset.kind === "video").map((asset) => asset.asset);
  }
}
