import { ACTIONS, type Action } from "../commands/actions";
import { isApple, readable } from "../commands/keys";
import { t } from "../i18n";
import { useServer } from "../state/server";
import DialogHost from "../ui/DialogHost";
import type { DialogName } from "../ui/overlays";

export default function Dialogs({ name }: { name: DialogName }) {
  return name === "keys" ? <KeysDialog /> : <AboutDialog />;
}

const GROUPS: readonly Action["group"][] = ["Run", "Edit", "View", "File"];

const GESTURES: readonly (readonly [string, string])[] = [
  ["Double-click on the canvas", "Add a node"],
  ["Drag from a socket", "Draw an edge; on empty canvas: add a node that fits"],
  ["Drag from a connected input", "Move that edge, or drop it to remove it"],
  ["Drag on the canvas", "Select"],
  ["Middle drag, Space drag", "Pan"],
  ["Wheel, pinch", "Zoom"],
  ["Alt click on an edge", "Delete it"],
  ["Drag a number sideways", "Scrub it (Shift ×10, Alt ×0.1)"],
  ["Drop a file", "JSON opens in a new tab; pictures and clips become nodes"],
];

const LIVE: readonly (readonly [string, string])[] = [
  ["Enter on the viewer, or click the picture", "Drive the rollout"],
  ["W A S D", "Steer while held (or the keys of the action node)"],
  ["Esc", "Let go"],
  ["Ctrl Enter in the prompt box", "New prompt from the next chunk on"],
  ["Space or K, J L, ← →, Home End on the viewer", "Play, skip, step, jump"],
];

function KeysDialog() {
  return (
    <DialogHost title={t("Keyboard and mouse")}>
      <div className="sheet">
        {GROUPS.map((group) => (
          <section key={group}>
            <h3 className="label">{t(group)}</h3>
            <dl className="sheet__list">
              {ACTIONS.filter((action) => action.group === group && action.keys.length).map((action) => (
                <Line key={action.id} keys={[...new Set(action.keys.map((keys) => readable(keys, isApple())))]} text={t(action.title)} />
              ))}
            </dl>
          </section>
        ))}
        <section>
          <h3 className="label">{t("Mouse")}</h3>
          <dl className="sheet__list">{GESTURES.map(([keys, text]) => <Line key={keys} keys={[t(keys)]} text={t(text)} />)}</dl>
        </section>
        <section>
          <h3 className="label">{t("Live and player")}</h3>
          <dl className="sheet__list">{LIVE.map(([keys, text]) => <Line key={keys} keys={[t(keys)]} text={t(text)} />)}</dl>
        </section>
      </div>
    </DialogHost>
  );
}

const Line = ({ keys, text }: { keys: readonly string[]; text: string }) => (
  <div className="sheet__line">
    <dt>{text}</dt>
    <dd>
      {keys.map((each) => (
        <kbd key={each}>{each}</kbd>
      ))}
    </dd>
  </div>
);

function AboutDialog() {
  const system = useServer((state) => state.system);
  return (
    <DialogHost title={t("About Rushes")}>
      <p>{t("A node-graph studio for generated video that shows the picture while it is being made.")}</p>
      <p className="hint">
        {t("Version {version}, protocol {protocol}.", { version: system?.version ?? "–", protocol: system?.protocol ?? "–" })}{" "}
        {t("The canvas is drawn with React Flow (MIT). Type: Inter and JetBrains Mono (OFL).")}
      </p>
    </DialogHost>
  );
}
