import { t } from "../i18n";
import { activate, closeDocument, isDirty, useDocuments } from "../state/documents";
import { newDocument, openFile, saveFile, saveToServer } from "../state/files";
import { openActions } from "../state/palette";
import { type Theme, setPrefs, usePrefs } from "../state/prefs";
import { activeRuns, useRuns } from "../state/runs";
import { run, stop, stoppable } from "../state/running";
import { useView } from "../state/view";
import { redoAndReveal, undoAndReveal } from "../state/editing";
import { isApple, readable } from "../commands/keys";
import { setTitle } from "../document/commands";
import { runCommand } from "../state/documents";
import { Button } from "../ui/Button";
import { Icon, type IconName } from "../ui/Icon";
import { openDialog, openMenuUnder, type MenuItem } from "../ui/overlays";
import { useState } from "react";

export function TopBar({ uid }: { uid: string }) {
  return (
    <header className="topbar">
      <button
        type="button"
        className="brand"
        aria-haspopup="menu"
        onClick={(event) => openMenuUnder(event.currentTarget, t("Main menu"), mainMenu(uid))}
      >
        <svg className="brand__mark" viewBox="0 0 20 16" aria-hidden="true">
          <path d="M1 1h18v4H1z" fill="var(--accent)" />
          <path d="M4.500 1l-2.500 4h3.500L8 1zM10.500 1L8 5h3.500L14 1zM16.500 1L14 5h3.500L19 2.500V1z" fill="var(--panel)" />
          <path d="M1 6.500h18V15H1z" fill="currentColor" />
        </svg>
        Rushes
      </button>
      <Tabs />
      <HistoryButtons uid={uid} />
      <div className="topbar__space" />
      <Button isSmall icon="search" className="topbar__search" onClick={openActions}>
        {t("Search actions")} <kbd>{readable("Mod+K", isApple())}</kbd>
      </Button>
      <ThemeButton />
      <Button isSmall icon="help" label={t("Keyboard shortcuts (?)")} onClick={() => openDialog("keys")} />
      <RunControls uid={uid} />
    </header>
  );
}

const entry = (label: string, keys: string, act: () => void): MenuItem => ({
  kind: "item",
  label,
  keys: keys && readable(keys, isApple()),
  run: act,
});

const mainMenu = (uid: string): MenuItem[] => [
  entry(t("New workflow"), "Alt+N", () => newDocument(t("Untitled"))),
  entry(t("Open file…"), "Mod+O", () => void openFile()),
  entry(t("Templates…"), "T", () => setPrefs({ panel: "templates" })),
  { kind: "rule" },
  entry(t("Save to the server"), "Mod+S", () => void saveToServer(uid)),
  entry(t("Save as a file"), "Mod+Shift+S", () => saveFile(uid)),
  { kind: "rule" },
  entry(t("Keyboard shortcuts"), "?", () => openDialog("keys")),
  entry(t("About Rushes"), "", () => openDialog("about")),
];

function Tabs() {
  const order = useDocuments((state) => state.order);
  return (
    <nav className="tabs" aria-label={t("Open workflows")}>
      {order.map((uid) => (
        <Tab key={uid} uid={uid} />
      ))}
      <Button isSmall icon="plus" label={t("New workflow (Alt N)")} onClick={() => newDocument(t("Untitled"))} />
    </nav>
  );
}

function Tab({ uid }: { uid: string }) {
  const open = useDocuments((state) => state.documents[uid]);
  const isActive = useDocuments((state) => state.active === uid);
  const isRunning = useRuns((state) => activeRuns(state, uid).length > 0);
  const [isRenaming, setRenaming] = useState(false);
  if (!open) return null;
  const title = open.doc.title || t("Untitled");
  return (
    <div className="tab" data-active={isActive || undefined} data-running={isRunning || undefined}>
      {isRenaming ? (
        <input
          autoFocus
          className="tab__input"
          aria-label={t("Workflow title")}
          defaultValue={title}
          onFocus={(event) => event.target.select()}
          onBlur={(event) => {
            if (event.target.value.trim()) runCommand(uid, setTitle(event.target.value.trim()));
            setRenaming(false);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter") event.currentTarget.blur();
            if (event.key === "Escape") setRenaming(false);
          }}
        />
      ) : (
        <button
          type="button"
          aria-current={isActive ? "page" : undefined}
          data-testid="tab"
          className="tab__name"
          title={t("{title}: double-click to rename", { title })}
          onClick={() => activate(uid)}
          onDoubleClick={() => setRenaming(true)}
        >
          {title}
        </button>
      )}
      <button type="button" className="tab__close" aria-label={t("Close {title}", { title })} onClick={() => close(uid)}>
        {isDirty(open) && <span className="tab__dirty" aria-label={t("unsaved changes")} />}
        <Icon name="close" />
      </button>
    </div>
  );
}

/** Closing the last document leaves a blank one. Edits not saved anywhere are asked about. */
function close(uid: string): void {
  const open = useDocuments.getState().documents[uid];
  if (!open) return;
  const isLosing = isDirty(open) && open.history.done.length > 0;
  if (isLosing && !window.confirm(t("Close {title} without saving its changes?", { title: open.doc.title ?? t("Untitled") }))) return;
  if (useDocuments.getState().order.length === 1) newDocument(t("Untitled"));
  closeDocument(uid);
}

function HistoryButtons({ uid }: { uid: string }) {
  const undoLabel = useDocuments((state) => state.documents[uid]?.history.done.at(-1)?.label ?? null);
  const redoLabel = useDocuments((state) => state.documents[uid]?.history.undone.at(-1)?.label ?? null);
  return (
    <div className="topbar__group">
      <Button
        isSmall
        icon="undo"
        label={undoLabel ? t("Undo: {label}", { label: undoLabel }) : t("Undo")}
        disabled={!undoLabel}
        data-testid="undo"
        onClick={() => undoAndReveal(uid)}
      />
      <Button
        isSmall
        icon="redo"
        label={redoLabel ? t("Redo: {label}", { label: redoLabel }) : t("Redo")}
        disabled={!redoLabel}
        data-testid="redo"
        onClick={() => redoAndReveal(uid)}
      />
    </div>
  );
}

const NEXT_THEME: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const THEME_ICONS: Record<Theme, IconName> = { system: "auto", light: "sun", dark: "moon" };
const THEME_WORDS: Record<Theme, string> = { system: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" };

function ThemeButton() {
  const theme = usePrefs((prefs) => prefs.theme);
  return (
    <Button
      isSmall
      icon={THEME_ICONS[theme]}
      label={t(THEME_WORDS[theme])}
      data-testid="theme"
      onClick={() => setPrefs({ theme: NEXT_THEME[theme] })}
    />
  );
}

function RunControls({ uid }: { uid: string }) {
  const runs = useRuns((state) => state.byDocument[uid]);
  const all = useRuns((state) => state.runs);
  const active = (runs ?? []).map((jobId) => all[jobId]).filter((each) => each?.state === "running" || each?.state === "queued");
  const current = active.at(-1);
  const chosen = useView((state) => state.views[uid]?.nodes.length ?? 0);
  const isGraceful = current !== undefined && stoppable(current) !== null;
  return (
    <div className="topbar__run">
      <Button
        icon="stop"
        variant="stop"
        disabled={!current}
        title={isGraceful ? t("Stop, and save what was made. Press twice to cancel.") : t("Cancel the run")}
        data-testid="stop"
        onClick={() => current && stop(current)}
      >
        {t("Stop")}
      </Button>
      <Button
        icon="play"
        variant="run"
        title={`${t("Run the workflow")} (${readable("Mod+Enter", isApple())})`}
        data-testid="run"
        data-selected-count={chosen}
        onClick={() => void run(uid)}
      >
        {active.length ? t("Run again") : t("Run")}
      </Button>
    </div>
  );
}
