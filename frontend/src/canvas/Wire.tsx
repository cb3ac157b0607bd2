import type { EdgeProps } from "@xyflow/react";
import { memo } from "react";
import { useGesture } from "./gesture";
import type { FlowEdge } from "./adapter";

/** A curve with slack enough to be followed by eye, also where it runs backwards. */
export function wirePath(x1: number, y1: number, x2: number, y2: number): string {
  const distance = Math.abs(x2 - x1);
  const slack = x2 >= x1 ? Math.max(distance * 0.45, 28) : Math.min(60 + distance * 0.35, 220);
  return `M${x1} ${y1}C${x1 + slack} ${y1} ${x2 - slack} ${y2} ${x2} ${y2}`;
}

export const Wire = memo(function Wire({ id, sourceX, sourceY, targetX, targetY, data, selected }: EdgeProps<FlowEdge>) {
  const isDetached = useGesture((state) => state.gesture?.detached === id);
  if (isDetached) return null;
  const path = wirePath(sourceX, sourceY, targetX, targetY);
  const color = `var(--wire-${data?.valueType ?? "ANY"}, var(--wire-ANY))`;
  return (
    <g className={`wire ${selected ? "wire--selected" : ""}`} style={{ color }} data-edge-id={id}>
      <path className="wire__hit react-flow__edge-interaction" d={path} />
      <path className="wire__halo" d={path} />
      <path className="wire__line" d={path} />
    </g>
  );
});
