import "../ui/tokens.css";
import "../ui/base.css";
import "../widgets/widgets.css";
import "../viewer/viewer.css";
import "./shell.css";
import { lazy, type PointerEvent, Suspense, useEffect, useState } from "react";
import { GraphCanvas } from "../canvas/GraphCanvas";
import { Palette } from "../commands/Palette";
import { t } from "../i18n";
import { Inspector } from "../panels/Inspector";
import { LeftRail, SidePanel } from "../panels/Panels";
import { Problems } from "../panels/Problems";
import { useDocuments } from "../state/documents";
import { openFiles } from "../state/files";
import { dismissNotice, useNotices } from "../state/notices";
import { setPrefs, usePrefs } from "../state/prefs";
import { Button } from "../ui/Button";
import { useOverlays } from "../ui/overlays";
import { Viewer } from "../viewer/Viewer";
import { StatusBar } from "./StatusBar";
import { TopBar } from "./TopBar";

const MenuHost = lazy(() => import("../ui/MenuHost"));
const Dialogs = lazy(() => import("./Dialogs"));

export function App() {
  const uid = useDocuments((state) => state.active);
  const hasDock = usePrefs((prefs) => prefs.hasDock);
  const [hasProblems, setProblems] = useState(false);
  useTheme();
  if (uid === null) return <div className="boot" role="status" aria-label={t("Opening")} />;
  return (
    <div className="shell">
      <PageTitle uid={uid} />
      <TopBar uid={uid} />
      <main className="shell__middle">
        <LeftRail />
        <SidePanel uid={uid} />
        <div className="shell__stage">
          <GraphCanvas uid={uid} onFiles={(files) => void openFiles(files)} />
          {hasProblems && <Problems uid={uid} onClose={() => setProblems(false)} />}
          <NoticeStrip />
        </div>
        {hasDock && <Dock uid={uid} />}
      </main>
      <StatusBar uid={uid} hasProblems={hasProblems} onProblems={() => setProblems(!hasProblems)} />
      <Palette />
      <Overlays />
      <LiveRegion />
    </div>
  );
}

function PageTitle({ uid }: { uid: string }) {
  const title = useDocuments((state) => state.documents[uid]?.doc.title) || t("Untitled");
  return (
    <>
      <title>{`${title} · Rushes`}</title>
      <h1 className="is-unseen">{title}</h1>
    </>
  );
}

function useTheme(): void {
  const theme = usePrefs((prefs) => prefs.theme);
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  }, [theme]);
}

const DOCK_MIN = 300;
const DOCK_MAX = 640;

function Dock({ uid }: { uid: string }) {
  const width = usePrefs((prefs) => prefs.dockWidth);
  const resize = (event: PointerEvent<HTMLDivElement>) => {
    if (event.buttons !== 1) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    setPrefs({ dockWidth: Math.min(Math.max(window.innerWidth - event.clientX, DOCK_MIN), DOCK_MAX) });
  };
  const step = (by: number) => setPrefs({ dockWidth: Math.min(Math.max(width + by, DOCK_MIN), DOCK_MAX) });
  return (
    <aside className="dock" style={{ width }} aria-label={t("Viewer and inspector")}>
      <div
        className="dock__edge"
        role="separator"
        aria-orientation="vertical"
        aria-label={t("Resize the viewer")}
        aria-valuenow={width}
        aria-valuemin={DOCK_MIN}
        aria-valuemax={DOCK_MAX}
        tabIndex={0}
        onPointerDown={resize}
        onPointerMove={resize}
        onKeyDown={(event) => {
          if (event.key === "ArrowLeft") step(16);
          if (event.key === "ArrowRight") step(-16);
        }}
      />
      <Viewer uid={uid} />
      <Inspector uid={uid} />
    </aside>
  );
}

const NOTICE_MS = 6000;

function NoticeStrip() {
  const notice = useNotices((state) => state.notice);
  useEffect(() => {
    if (!notice) return;
    const timer = setTimeout(dismissNotice, NOTICE_MS);
    return () => clearTimeout(timer);
  }, [notice]);
  if (!notice) return null;
  return (
    <div className="notice" data-kind={notice.kind} data-testid="notice">
      <p>{notice.text}</p>
      <Button isSmall icon="close" label={t("Dismiss")} onClick={dismissNotice} />
    </div>
  );
}

function Overlays() {
  const menu = useOverlays((state) => state.menu);
  const dialog = useOverlays((state) => state.dialog);
  return (
    <Suspense fallback={null}>
      {menu && <MenuHost key={`${menu.x},${menu.y}`} menu={menu} />}
      {dialog && <Dialogs name={dialog} />}
    </Suspense>
  );
}

function LiveRegion() {
  const spoken = useNotices((state) => state.spoken);
  return (
    <div className="is-unseen" role="status" aria-live="polite" data-testid="live-region">
      {spoken}
    </div>
  );
}
