import { useReactFlow } from "@xyflow/react";
import type { PointerEvent } from "react";
import type { SocketRef } from "../document/schema";
import { openPalette } from "../state/palette";
import { abandon, begin, finish, move } from "./gesture";

type Start = (event: PointerEvent<HTMLElement>, ref: SocketRef, side: "input" | "output") => void;

/** Draws an edge from a socket until the pointer is released; Escape lets go. */
export function useSocketDrag(uid: string): Start {
  const flow = useReactFlow();
  return (event, ref, side) => {
    event.preventDefault();
    event.stopPropagation();
    const handle = event.currentTarget;
    const pointer = event.pointerId;
    handle.setPointerCapture(pointer);
    begin(uid, ref, side);

    const onMove = (at: globalThis.PointerEvent) =>
      move(flow.screenToFlowPosition({ x: at.clientX, y: at.clientY }, { snapToGrid: false }), flow.getZoom());
    const onKey = (key: KeyboardEvent) => {
      if (key.key !== "Escape") return;
      key.stopPropagation();
      abandon();
      end();
    };
    const onUp = (at: globalThis.PointerEvent) => {
      onMove(at);
      end();
      const loose = finish();
      if (!loose || isStill(at)) return;
      const place = flow.screenToFlowPosition({ x: at.clientX, y: at.clientY }, { snapToGrid: false });
      openPalette({ uid, screen: { x: at.clientX, y: at.clientY }, place, end: loose.end });
    };
    const isStill = (at: globalThis.PointerEvent) =>
      Math.hypot(at.clientX - event.clientX, at.clientY - event.clientY) < 6;
    const onCancel = () => {
      abandon();
      end();
    };
    const end = () => {
      handle.removeEventListener("pointermove", onMove);
      handle.removeEventListener("pointerup", onUp);
      handle.removeEventListener("pointercancel", onCancel);
      window.removeEventListener("keydown", onKey, true);
    };
    handle.addEventListener("pointermove", onMove);
    handle.addEventListener("pointerup", onUp);
    handle.addEventListener("pointercancel", onCancel);
    window.addEventListener("keydown", onKey, true);
  };
}
