import { t } from "../i18n";
import { arm, release, useDrive, useSteerable } from "../state/live";
import { useLive } from "../state/runs";
import { watch } from "../state/view";
import { streamKey } from "../transport/protocol";

/** Over the picture of a rollout that can be steered: take the wheel, let go, and how long a key takes to show. */
export function LiveStrip({ uid, nodeId }: { uid: string; nodeId: string }) {
  const target = useSteerable(uid);
  const isHere = target?.nodeId === nodeId;
  const isArmed = useDrive((state) => isHere && state.drive?.jobId === target.jobId && state.drive.nodeId === nodeId);
  const latency = useLive((state) => (isHere ? (state.stats[streamKey(target.jobId, nodeId)]?.latency ?? null) : null));
  if (!isHere) return null;
  const toggle = () => {
    watch(uid, nodeId);
    if (isArmed) release();
    else arm(uid, target.jobId, nodeId);
  };
  return (
    <div className="livestrip nodrag">
      <button type="button" className="livestrip__drive" aria-pressed={isArmed} onClick={toggle} data-testid="drive-node">
        <span className="livedot" aria-hidden="true" />
        {isArmed ? t("Driving · Esc") : t("Drive")}
      </button>
      {latency && <span className="livestrip__latency">{Math.round(latency.p50_ms)} ms</span>}
    </div>
  );
}
