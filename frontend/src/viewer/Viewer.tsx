import { useRef } from "react";
import { titleOf } from "../document/catalog";
import { useDocuments } from "../state/documents";
import { t } from "../i18n";
import { arm, useDrive, useSteerable } from "../state/live";
import { useRuns } from "../state/runs";
import { useServer } from "../state/server";
import { useDocumentView, watch } from "../state/view";
import { Icon } from "../ui/Icon";
import { LiveHud } from "./LiveHud";
import { isStill } from "./motion";
import { followed, type Picture, usePicture } from "./picture";
import { StreamCanvas } from "./StreamCanvas";
import { ClipTransport } from "./ClipTransport";

/** The docked viewer: the picture is the brightest thing on the screen, always in one place. */
export function Viewer({ uid }: { uid: string }) {
  const watched = useDocumentView(uid, (view) => view.watched);
  const follows = useRuns((state) => followed(state, uid));
  const doc = useDocuments((state) => state.documents[uid]?.doc);
  const isThere = watched !== null && doc !== undefined && watched in doc.graph.nodes;
  const nodeId = isThere ? watched : follows;
  return (
    <section className="viewer" aria-label={t("Viewer")} data-testid="viewer" data-watched={nodeId ?? undefined}>
      <header className="viewer__head">
        <h2 className="viewer__title">{t("Viewer")}</h2>
        <Source uid={uid} watched={isThere ? watched : null} />
      </header>
      {nodeId === null ? <Empty /> : <Screen uid={uid} nodeId={nodeId} />}
      <LiveHud uid={uid} />
    </section>
  );
}

const Empty = () => (
  <div className="viewer__stage">
    <p className="viewer__none">
      {t("Press Run. The picture shows here while it is being made.")} <kbd>Ctrl</kbd> <kbd>Enter</kbd>
    </p>
  </div>
);

/** Which node the viewer shows: what the run makes, or one that was picked. */
function Source({ uid, watched }: { uid: string; watched: string | null }) {
  const doc = useDocuments((state) => state.documents[uid]?.doc);
  const catalog = useServer((state) => state.catalog);
  const nodes = Object.entries(doc?.graph.nodes ?? {}).filter(([, node]) => {
    const type = catalog[node.type];
    const isPicture = (name: string) => name === "VIDEO" || name === "IMAGE";
    return type?.is_output || type?.outputs.some((socket) => isPicture(socket.type));
  });
  return (
    <div className="choice viewer__source">
      <select
        className="choice__select"
        aria-label={t("Node to show")}
        value={watched ?? ""}
        onChange={(event) => watch(uid, event.target.value || null)}
      >
        <option value="">{t("Follow the run")}</option>
        {nodes.map(([id, node]) => (
          <option key={id} value={id}>
            {titleOf(node, catalog[node.type])}
          </option>
        ))}
      </select>
      <Icon name="down" />
    </div>
  );
}

function Screen({ uid, nodeId }: { uid: string; nodeId: string }) {
  const picture = usePicture(uid, nodeId);
  const target = useSteerable(uid);
  const stage = useRef<HTMLDivElement>(null);
  const video = useRef<HTMLVideoElement>(null);
  const isLive = picture?.kind === "stream" && picture.isRollout && target?.nodeId === picture.nodeId;
  const isArmed = useDrive((state) => state.drive !== null && state.drive.jobId === target?.jobId);
  const drive = () => {
    if (!isLive || !target) return;
    arm(uid, target.jobId, target.nodeId);
    stage.current?.focus();
  };
  return (
    <>
      <div
        ref={stage}
        className="viewer__stage"
        tabIndex={0}
        role="group"
        aria-label={isLive ? t("Picture. Enter: drive, Escape: let go") : t("Picture")}
        data-testid="viewer-stage"
        data-live={isLive || undefined}
        data-armed={(isLive && isArmed) || undefined}
        data-player={picture?.kind === "video" || undefined}
        onClick={drive}
        onKeyDown={(event) => event.key === "Enter" && drive()}
      >
        <Media picture={picture} video={video} />
      </div>
      {picture?.kind === "video" && <ClipTransport key={picture.url} video={video} picture={picture} />}
    </>
  );
}

function Media({ picture, video }: { picture: Picture | null; video: React.RefObject<HTMLVideoElement | null> }) {
  if (!picture) return <p className="viewer__none">{t("This node has nothing to show yet.")}</p>;
  if (picture.kind === "stream") return <StreamCanvas streamKey={picture.key} label={t("Viewer picture")} />;
  if (picture.kind === "image") return <img className="viewer__media" src={picture.url} alt={picture.name} />;
  return (
    <video
      ref={video}
      key={picture.url}
      className="viewer__media"
      src={picture.url}
      aria-label={picture.name}
      autoPlay={!isStill()}
      loop
      muted
      playsInline
      disablePictureInPicture
    />
  );
}
