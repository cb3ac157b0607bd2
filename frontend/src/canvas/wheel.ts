/** Whether a wheel event comes from a trackpad: small or sideways steps in pixels, where a mouse wheel makes big ones. */
export function isTrackpad(event: WheelEvent): boolean {
  if (event.deltaMode !== WheelEvent.DOM_DELTA_PIXEL) return false;
  if (event.deltaX !== 0) return !event.shiftKey;
  return Math.abs(event.deltaY) < 40 && Math.abs(event.deltaY) % 100 !== 0;
}
