import { t } from "../i18n";
import { isStill } from "./motion";
import { StreamCanvas } from "./StreamCanvas";
import { type Picture, usePicture } from "./picture";

interface Props {
  uid: string;
  nodeId: string;
  title: string;
}

/** The picture on a node's body: live frames while it runs, the finished clip after. */
export function PictureBox({ uid, nodeId, title }: Props) {
  const picture = usePicture(uid, nodeId);
  return (
    <div className="picture" data-kind={picture?.kind ?? "none"} data-stale={isStale(picture) || undefined}>
      <Shown picture={picture} title={title} />
    </div>
  );
}

const isStale = (picture: Picture | null): boolean => picture !== null && picture.kind !== "stream" && picture.isStale;

function Shown({ picture, title }: { picture: Picture | null; title: string }) {
  if (!picture) return <span className="picture__empty" aria-hidden="true" />;
  switch (picture.kind) {
    case "stream":
      return <StreamCanvas streamKey={picture.key} label={t("Preview of {title}", { title })} />;
    case "image":
      return <img className="picture__media" src={picture.url} alt={picture.name} draggable={false} />;
    case "video":
      return (
        <video
          key={picture.url}
          className="picture__media"
          src={picture.url}
          aria-label={picture.name}
          data-testid="clip"
          autoPlay={!picture.isAsset && !isStill()}
          loop
          muted
          playsInline
          disablePictureInPicture
          preload="auto"
          onPointerEnter={(event) => void event.currentTarget.play()}
          onPointerLeave={(event) => picture.isAsset && event.currentTarget.pause()}
        />
      );
  }
}
