/** Everything a shortcut, a menu or the action palette can do: one table. */
import { rename } from "../canvas/state";
import { t } from "../i18n";
import { activeDocument } from "../state/documents";
import {
  deleteSelection,
  duplicateSelection,
  redoAndReveal,
  selectAll,
  tidy,
  toggleCollapsed,
  toggleMode,
  undoAndReveal,
} from "../state/editing";
import { newDocument, openFile, saveFile, saveToServer } from "../state/files";
import { openActions, openPalette } from "../state/palette";
import { type PanelName, setPrefs, togglePanel, usePrefs } from "../state/prefs";
import { run, stopAll } from "../state/running";
import { stage } from "../state/stage";
import { select, viewOfDocument, watch } from "../state/view";
import { openDialog } from "../ui/overlays";
import { nudge, walk } from "./walk";

export interface Action {
  id: string;
  title: string;
  group: "Run" | "Edit" | "View" | "File";
  keys: readonly string[];
  /** `anywhere` also works while typing; `canvas` needs the graph in focus and no text field. */
  when: "anywhere" | "canvas";
  run: (uid: string) => void;
}

const panel = (name: PanelName, title: string, key: string): Action => ({
  id: `panel.${name}`,
  title,
  group: "View",
  keys: [key],
  when: "canvas",
  run: () => togglePanel(name),
});

const zoom = (id: string, title: string, keys: string[], act: () => void): Action => ({
  id: `view.${id}`,
  title,
  group: "View",
  keys,
  when: "canvas",
  run: act,
});

const edit = (id: string, title: string, keys: string[], act: (uid: string) => void): Action => ({
  id: `edit.${id}`,
  title,
  group: "Edit",
  keys,
  when: "canvas",
  run: act,
});

const ONE = 1.25;

export const ACTIONS: readonly Action[] = [
  { id: "run", title: "Run", group: "Run", keys: ["Mod+Enter"], when: "anywhere", run: (uid) => void run(uid) },
  { id: "stop", title: "Stop", group: "Run", keys: ["Mod+Alt+Enter"], when: "anywhere", run: stopAll },
  {
    id: "run.here",
    title: "Run to the selected node",
    group: "Run",
    keys: ["Mod+Shift+Enter"],
    when: "anywhere",
    run: (uid) => {
      const chosen = viewOfDocument(uid).nodes;
      if (chosen.length) void run(uid, chosen);
    },
  },
  { id: "actions", title: "All actions", group: "View", keys: ["Mod+K"], when: "anywhere", run: openActions },
  edit("add", "Add node", ["Tab", "Shift+A", "/"], (uid) => {
    openPalette({ uid, screen: null, place: stage()?.place() ?? { x: 0, y: 0 } });
  }),
  { id: "edit.undo", title: "Undo", group: "Edit", keys: ["Mod+Z"], when: "anywhere", run: undoAndReveal },
  { id: "edit.redo", title: "Redo", group: "Edit", keys: ["Mod+Shift+Z", "Mod+Y"], when: "anywhere", run: redoAndReveal },
  edit("duplicate", "Duplicate", ["Mod+D"], duplicateSelection),
  edit("delete", "Delete", ["Delete", "Backspace"], (uid) => deleteSelection(uid)),
  edit("delete.raw", "Delete without healing edges", ["Shift+Delete"], (uid) => deleteSelection(uid, false)),
  edit("select.all", "Select all", ["Mod+A"], selectAll),
  edit("select.none", "Select none", ["Escape"], (uid) => select(uid, [])),
  edit("rename", "Rename node", ["F2"], (uid) => rename(viewOfDocument(uid).nodes[0] ?? null)),
  edit("mute", "Mute", ["Ctrl+M", "Mod+M"], (uid) => toggleMode(uid, "muted")),
  edit("bypass", "Bypass", ["Mod+B"], (uid) => toggleMode(uid, "bypassed")),
  edit("collapse", "Collapse or expand", ["Alt+C"], (uid) => toggleCollapsed(uid)),
  edit("tidy", "Tidy", ["L"], tidy),
  edit("walk.left", "Go to the node on the left", ["ArrowLeft"], (uid) => walk(uid, "left")),
  edit("walk.right", "Go to the node on the right", ["ArrowRight"], (uid) => walk(uid, "right")),
  edit("walk.up", "Go to the node above", ["ArrowUp"], (uid) => walk(uid, "up")),
  edit("walk.down", "Go to the node below", ["ArrowDown"], (uid) => walk(uid, "down")),
  edit("nudge.left", "Nudge left", ["Alt+ArrowLeft"], (uid) => nudge(uid, { x: -8, y: 0 })),
  edit("nudge.right", "Nudge right", ["Alt+ArrowRight"], (uid) => nudge(uid, { x: 8, y: 0 })),
  edit("nudge.up", "Nudge up", ["Alt+ArrowUp"], (uid) => nudge(uid, { x: 0, y: -8 })),
  edit("nudge.down", "Nudge down", ["Alt+ArrowDown"], (uid) => nudge(uid, { x: 0, y: 8 })),
  edit("watch", "Show the selected node in the viewer", ["1"], (uid) => watch(uid, viewOfDocument(uid).nodes[0] ?? null)),
  zoom("fit", "Zoom to the selection, or to all", ["."], () => {
    const uid = activeDocument()?.uid;
    stage()?.fit(uid ? viewOfDocument(uid).nodes : []);
  }),
  zoom("all", "Zoom to all", ["Shift+1"], () => stage()?.fit()),
  zoom("in", "Zoom in", ["+", "="], () => stage()?.zoomBy(ONE)),
  zoom("out", "Zoom out", ["-"], () => stage()?.zoomBy(1 / ONE)),
  zoom("100", "Zoom to 100 %", ["0"], () => stage()?.zoomTo(1)),
  panel("nodes", "Nodes panel", "N"),
  panel("templates", "Templates panel", "T"),
  panel("workflows", "Workflows panel", "W"),
  panel("queue", "Queue panel", "Q"),
  zoom("dock", "Viewer and inspector", ["I"], () => setPrefs({ hasDock: !usePrefs.getState().hasDock })),
  zoom("focus", "Hide all panels", ["F"], () => {
    const { hasDock, panel: open } = usePrefs.getState();
    setPrefs(hasDock || open ? { hasDock: false, panel: null } : { hasDock: true });
  }),
  zoom("map", "Minimap", ["Alt+M"], () => setPrefs({ hasMinimap: !usePrefs.getState().hasMinimap })),
  { id: "keys", title: "Keyboard shortcuts", group: "View", keys: ["?"], when: "canvas", run: () => openDialog("keys") },
  { id: "file.save", title: "Save to the server", group: "File", keys: ["Mod+S"], when: "anywhere", run: (uid) => void saveToServer(uid) },
  { id: "file.export", title: "Save as a file", group: "File", keys: ["Mod+Shift+S"], when: "anywhere", run: saveFile },
  { id: "file.open", title: "Open a file", group: "File", keys: ["Mod+O"], when: "anywhere", run: () => void openFile() },
  { id: "file.new", title: "New workflow", group: "File", keys: ["Alt+N"], when: "anywhere", run: () => newDocument(t("Untitled")) },
];
