import type { Point } from "../document/commands";
import { t } from "../i18n";
import {
  deleteEdge,
  deleteSelection,
  duplicateSelection,
  selectAll,
  tidy,
  toggleCollapsed,
  toggleMode,
} from "../state/editing";
import { openPalette } from "../state/palette";
import { run } from "../state/running";
import { stage } from "../state/stage";
import { select, viewOfDocument, watch } from "../state/view";
import type { MenuItem } from "../ui/overlays";
import { rename } from "./state";

const rule: MenuItem = { kind: "rule" };
const item = (label: string, keys: string, act: () => void, isDanger = false): MenuItem => ({
  kind: "item",
  label,
  keys,
  isDanger,
  run: act,
});

export function nodeMenu(uid: string, nodeId: string): MenuItem[] {
  const chosen = viewOfDocument(uid).nodes;
  if (!chosen.includes(nodeId)) select(uid, [nodeId]);
  return [
    item(t("Run to here"), "", () => void run(uid, [nodeId])),
    item(t("Show in viewer"), "1", () => watch(uid, nodeId)),
    rule,
    item(t("Rename"), "F2", () => rename(nodeId)),
    item(t("Duplicate"), "Ctrl D", () => duplicateSelection(uid)),
    item(t("Copy"), "Ctrl C", () => document.execCommand("copy")),
    rule,
    item(t("Mute"), "Ctrl M", () => toggleMode(uid, "muted")),
    item(t("Bypass"), "Ctrl B", () => toggleMode(uid, "bypassed")),
    item(t("Collapse"), "Alt C", () => toggleCollapsed(uid)),
    rule,
    item(t("Delete"), "Del", () => deleteSelection(uid), true),
  ];
}

export function edgeMenu(uid: string, edgeId: string, screen: Point): MenuItem[] {
  const place = stage()?.place(screen) ?? screen;
  return [
    item(t("Insert node…"), "", () => openPalette({ uid, screen, place, edgeId })),
    item(t("Delete edge"), "Del", () => deleteEdge(uid, edgeId), true),
  ];
}

export function paneMenu(uid: string, screen: Point): MenuItem[] {
  const place = stage()?.place(screen) ?? screen;
  return [
    item(t("Add node…"), "Tab", () => openPalette({ uid, screen, place })),
    rule,
    item(t("Select all"), "Ctrl A", () => selectAll(uid)),
    item(t("Tidy"), "L", () => tidy(uid)),
    item(t("Zoom to fit"), ".", () => stage()?.fit()),
  ];
}
