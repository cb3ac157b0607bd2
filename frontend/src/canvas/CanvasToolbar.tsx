import { useViewport } from "@xyflow/react";
import { t } from "../i18n";
import { tidy } from "../state/editing";
import { setPrefs, usePrefs } from "../state/prefs";
import { stage } from "../state/stage";
import { Button } from "../ui/Button";

export function CanvasToolbar({ uid }: { uid: string }) {
  const { zoom } = useViewport();
  const hasMinimap = usePrefs((prefs) => prefs.hasMinimap);
  return (
    <div className="toolbar" role="toolbar" aria-label={t("View")}>
      <Button isSmall icon="minus" label={t("Zoom out")} onClick={() => stage()?.zoomBy(1 / 1.25)} />
      <Button isSmall className="toolbar__zoom" aria-label={t("Zoom to 100 %")} onClick={() => stage()?.zoomTo(1)}>
        {Math.round(zoom * 100)}%
      </Button>
      <Button isSmall icon="plus" label={t("Zoom in")} onClick={() => stage()?.zoomBy(1.25)} />
      <span className="toolbar__rule" />
      <Button isSmall icon="fit" label={t("Zoom to fit (.)")} onClick={() => stage()?.fit()} />
      <Button isSmall icon="tidy" label={t("Tidy (L)")} onClick={() => tidy(uid)} />
      <Button
        isSmall
        icon="map"
        label={t("Minimap (Alt M)")}
        aria-pressed={hasMinimap}
        onClick={() => setPrefs({ hasMinimap: !hasMinimap })}
      />
    </div>
  );
}
