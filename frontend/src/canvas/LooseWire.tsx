import { ViewportPortal } from "@xyflow/react";
import { documentOf } from "../state/documents";
import { catalogNow } from "../state/server";
import { SocketShape } from "../ui/SocketShape";
import { socketPoint, useGesture } from "./gesture";
import { useUid } from "./state";
import { wirePath } from "./Wire";

/** The edge in the hand, from its fixed end to the pointer or to the socket it snaps to. */
export function LooseWire() {
  const uid = useUid();
  const gesture = useGesture((state) => state.gesture);
  const doc = documentOf(uid)?.doc;
  if (!gesture || gesture.uid !== uid || !doc) return null;
  const isForward = gesture.end.side === "output";
  const snapped = gesture.target && socketPoint(doc, catalogNow(), gesture.target, isForward ? "input" : "output");
  const to = snapped ?? gesture.to;
  const [start, stop] = isForward ? [gesture.from, to] : [to, gesture.from];
  return (
    <ViewportPortal>
      <svg className="loose" style={{ color: `var(--wire-${gesture.wireType}, var(--wire-ANY))` }} aria-hidden="true">
        <path className="wire__halo" d={wirePath(start.x, start.y, stop.x, stop.y)} />
        <path className="wire__line" d={wirePath(start.x, start.y, stop.x, stop.y)} />
      </svg>
      <div className="loose__end" style={{ transform: `translate(${to.x}px, ${to.y}px)` }}>
        <SocketShape type={gesture.wireType} />
      </div>
    </ViewportPortal>
  );
}
