import { memo, type PointerEvent } from "react";
import type { SocketPlace } from "../document/layoutNode";
import { t } from "../i18n";
import { SocketShape } from "../ui/SocketShape";
import { useSocketDrag } from "./useSocketDrag";
import { standing, useGesture } from "./gesture";
import { useUid } from "./state";

interface Props {
  nodeId: string;
  place: SocketPlace;
  types: readonly string[];
  isConnected: boolean;
  width: number;
}

/** A typed end for edges: shape, colour and name. Dragging from it draws an edge. */
export const Socket = memo(function Socket({ nodeId, place, types, isConnected, width }: Props) {
  const uid = useUid();
  const look = useGesture((state) => standing(state.gesture, nodeId, place.side, place.name, types));
  const start = useSocketDrag(uid);
  const onPointerDown = (event: PointerEvent<HTMLButtonElement>) => {
    if (event.button === 0) start(event, [nodeId, place.name], place.side);
  };
  const style = place.side === "input" ? { top: place.y } : { top: place.y, left: width };
  return (
    <button
      type="button"
      tabIndex={-1}
      className={`socket socket--${place.side} nodrag nopan`}
      style={style}
      data-socket={place.name}
      data-side={place.side}
      data-type={types.join(" ")}
      data-look={look}
      data-connected={isConnected || undefined}
      title={`${place.name}: ${types.join(t(" or "))}${place.doc ? ` — ${place.doc}` : ""}`}
      aria-label={t("{side} {name}, type {types}, {state}", {
        side: place.side === "input" ? t("Input") : t("Output"),
        name: place.name,
        types: types.join(t(" or ")),
        state: isConnected ? t("connected") : t("not connected"),
      })}
      onPointerDown={onPointerDown}
    >
      <SocketShape type={place.type} isHollow={place.side === "input" && !isConnected} />
      <span className="socket__name">{place.name}</span>
    </button>
  );
});
