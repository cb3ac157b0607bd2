import { create } from "zustand";

export type Theme = "system" | "dark" | "light";
export type PanelName = "nodes" | "templates" | "workflows" | "queue";

export interface Prefs {
  theme: Theme;
  panel: PanelName | null;
  panelWidth: number;
  dockWidth: number;
  hasDock: boolean;
  hasMinimap: boolean;
  /** Left-drag on the empty canvas pans instead of selecting. */
  isDragPanning: boolean;
  recentTypes: readonly string[];
}

const KEY = "rushes.prefs";
const RECENT_LIMIT = 8;

const DEFAULTS: Prefs = {
  theme: "system",
  panel: null,
  panelWidth: 248,
  dockWidth: 352,
  hasDock: true,
  hasMinimap: true,
  isDragPanning: false,
  recentTypes: [],
};

function stored(): Partial<Prefs> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Prefs>;
  } catch {
    return {};
  }
}

export const usePrefs = create<Prefs>(() => ({ ...DEFAULTS, ...stored() }));

usePrefs.subscribe((prefs) => localStorage.setItem(KEY, JSON.stringify(prefs)));

export const setPrefs = (change: Partial<Prefs>): void => usePrefs.setState(change);

export const togglePanel = (panel: PanelName): void =>
  usePrefs.setState((prefs) => ({ panel: prefs.panel === panel ? null : panel }));

export const noteRecentType = (typeId: string): void =>
  usePrefs.setState((prefs) => ({
    recentTypes: [typeId, ...prefs.recentTypes.filter((other) => other !== typeId)].slice(0, RECENT_LIMIT),
  }));
