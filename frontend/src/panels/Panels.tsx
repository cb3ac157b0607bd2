import "./panels.css";
import type { ReactNode } from "react";
import { t } from "../i18n";
import { type PanelName, setPrefs, togglePanel, usePrefs } from "../state/prefs";
import { Button } from "../ui/Button";
import { Icon, type IconName } from "../ui/Icon";
import { NodesPanel } from "./NodesPanel";
import { QueuePanel } from "./QueuePanel";
import { TemplatesPanel } from "./TemplatesPanel";
import { WorkflowsPanel } from "./WorkflowsPanel";

interface Entry {
  name: PanelName;
  icon: IconName;
  title: string;
  keys: string;
  body: (uid: string) => ReactNode;
}

const ENTRIES: readonly Entry[] = [
  { name: "nodes", icon: "nodes", title: "Nodes", keys: "N", body: (uid) => <NodesPanel uid={uid} /> },
  { name: "templates", icon: "templates", title: "Templates", keys: "T", body: () => <TemplatesPanel /> },
  { name: "workflows", icon: "folder", title: "Workflows", keys: "W", body: (uid) => <WorkflowsPanel uid={uid} /> },
  { name: "queue", icon: "queue", title: "Queue", keys: "Q", body: () => <QueuePanel /> },
];

/** The rail of panels at the left edge. */
export function LeftRail() {
  const open = usePrefs((prefs) => prefs.panel);
  return (
    <nav className="rail" aria-label={t("Panels")}>
      {ENTRIES.map(({ name, icon, title, keys }) => (
        <button
          key={name}
          type="button"
          className="rail__item"
          aria-pressed={open === name}
          title={`${t(title)} (${keys})`}
          aria-label={t(title)}
          onClick={() => togglePanel(name)}
        >
          <Icon name={icon} />
        </button>
      ))}
    </nav>
  );
}

export function SidePanel({ uid }: { uid: string }) {
  const open = usePrefs((prefs) => prefs.panel);
  const width = usePrefs((prefs) => prefs.panelWidth);
  const entry = ENTRIES.find(({ name }) => name === open);
  if (!entry) return null;
  return (
    <aside className="panel" style={{ width }} aria-label={t(entry.title)} data-testid={`panel-${entry.name}`}>
      <header className="panel__head">
        <h2 className="panel__title">{t(entry.title)}</h2>
        <Button isSmall icon="close" label={t("Close panel")} onClick={() => setPrefs({ panel: null })} />
      </header>
      <div className="panel__body">{entry.body(uid)}</div>
    </aside>
  );
}
