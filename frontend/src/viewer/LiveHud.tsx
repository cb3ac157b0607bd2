import { useState } from "react";
import { edgesOf } from "../document/schema";
import { t } from "../i18n";
import { useDocuments } from "../state/documents";
import { arm, release, sendPrompt, useDrive, useSteerable } from "../state/live";
import { useLive, useRuns } from "../state/runs";
import { stop } from "../state/running";
import { streamKey } from "../transport/protocol";
import { Button } from "../ui/Button";
import { KeyPad } from "./KeyPad";

/** The desk for a rollout that is being steered: keys, prompt, figures, stop. */
export function LiveHud({ uid }: { uid: string }) {
  const target = useSteerable(uid);
  if (!target) return null;
  return (
    <div className="hud" data-testid="live-hud" aria-label={t("Live control")} role="group">
      <Latency jobId={target.jobId} nodeId={target.nodeId} />
      <div className="hud__row hud__row--wide">
        <KeyPad uid={uid} keys={target.keys} size="large" />
        <Figures jobId={target.jobId} nodeId={target.nodeId} />
      </div>
      <DriveRow uid={uid} jobId={target.jobId} nodeId={target.nodeId} />
      <PromptBox key={target.jobId} uid={uid} jobId={target.jobId} nodeId={target.nodeId} />
    </div>
  );
}

interface Target {
  jobId: string;
  nodeId: string;
}

/** How long a key takes to show: the figure that tells whether steering feels direct. */
function Latency({ jobId, nodeId }: Target) {
  const latency = useLive((state) => state.stats[streamKey(jobId, nodeId)]?.latency ?? null);
  return (
    <p className="hud__latency" data-testid="latency" data-p50={latency?.p50_ms} data-p95={latency?.p95_ms} data-count={latency?.count ?? 0}>
      <span>{t("key → picture")}</span>
      {latency ? (
        <>
          <small>
            p95 {Math.round(latency.p95_ms)} · n {latency.count}
          </small>
          <span className="hud__figure">{Math.round(latency.p50_ms)} ms</span>
        </>
      ) : (
        <small>{t("drive, then press a key")}</small>
      )}
    </p>
  );
}

function Figures({ jobId, nodeId }: Target) {
  const stats = useLive((state) => state.stats[streamKey(jobId, nodeId)]);
  return (
    <dl className="hud__facts">
      <dt>{t("rate")}</dt>
      <dd>{stats ? `${stats.fps} / ${stats.wanted_fps} fps` : "–"}</dd>
      <dt>{t("buffer")}</dt>
      <dd>{stats ? `${Math.round(stats.buffer_ms)} ms` : "–"}</dd>
      <dt>{t("chunk")}</dt>
      <dd data-testid="live-chunk" data-frame={stats?.frameIndex} data-keys={stats?.keys.join("+")}>
        {stats ? `${stats.chunkIndex + 1}` : "–"}
      </dd>
      <dt>{t("frame")}</dt>
      <dd>{stats ? stats.frameIndex + 1 : "–"}</dd>
    </dl>
  );
}

function DriveRow({ uid, jobId, nodeId }: Target & { uid: string }) {
  const isArmed = useDrive((state) => state.drive?.jobId === jobId);
  const run = useRuns((state) => state.runs[jobId]);
  return (
    <div className="hud__row">
      <Button
        variant="lined"
        icon="key"
        aria-pressed={isArmed}
        data-testid="drive"
        onClick={() => (isArmed ? release() : arm(uid, jobId, nodeId))}
      >
        {isArmed ? t("Driving") : t("Drive with keys")}
      </Button>
      <span className="hud__state">{isArmed ? t("Esc lets go") : ""}</span>
      <Button variant="stop" icon="stop" data-testid="live-stop" onClick={() => run && stop(run)}>
        {t("Stop and save")}
      </Button>
    </div>
  );
}

/** A new prompt takes hold at the next chunk, without a restart. */
function PromptBox({ uid, jobId, nodeId }: Target & { uid: string }) {
  const written = useDocuments((state) => {
    const doc = state.documents[uid]?.doc;
    const edge = doc && Object.values(edgesOf(doc)).find(({ to }) => to[0] === nodeId && to[1] === "prompt");
    const text = edge && doc.graph.nodes[edge.from[0]]?.params?.["text"];
    return typeof text === "string" ? text : "";
  });
  const sent = useDrive((state) => (state.prompt?.jobId === jobId ? state.prompt : null));
  const applied = useRuns((state) => state.runs[jobId]?.promptsApplied ?? 0);
  const [text, setText] = useState(written);
  const state = !sent ? "" : applied >= sent.seq ? t("Applied") : t("Waiting for the next chunk…");
  const apply = () => text.trim() && sendPrompt(jobId, nodeId, text.trim());
  return (
    <div className="hud__prompt">
      <label className="label" htmlFor="live-prompt">
        {t("Prompt from the next chunk on")}
      </label>
      <textarea
        id="live-prompt"
        className="area"
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          event.stopPropagation();
          apply();
        }}
      />
      <div className="hud__row">
        <span className="hud__state" role="status">
          {state}
        </span>
        <Button isSmall variant="lined" onClick={apply} disabled={!text.trim() || text.trim() === (sent?.text ?? written)}>
          {t("Apply")} <kbd>Ctrl</kbd>
          <kbd>Enter</kbd>
        </Button>
      </div>
    </div>
  );
}
