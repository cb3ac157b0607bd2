import { useReactFlow, useStoreApi } from "@xyflow/react";
import { type PointerEvent, useEffect, useRef } from "react";
import { layoutOf } from "../document/layouts";
import { viewOf } from "../document/schema";
import { t } from "../i18n";
import { documentOf, useDocuments } from "../state/documents";
import { shownRun, useRuns } from "../state/runs";
import { useChecks } from "../state/checks";
import { usePrefs } from "../state/prefs";
import { catalogNow, useServer } from "../state/server";

const WIDTH = 176;
const HEIGHT = 112;
const MARGIN = 8;
const PAUSE_MS = 100;

interface Frame {
  scale: number;
  left: number;
  top: number;
}

/** The whole graph on one small canvas, drawn at most ten times a second, outside of React. */
export function Minimap({ uid }: { uid: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<Frame>({ scale: 1, left: 0, top: 0 });
  const flow = useReactFlow();
  const store = useStoreApi();

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const plan = () => {
      timer ??= setTimeout(() => {
        timer = null;
        const context = canvas.current?.getContext("2d");
        if (context) frame.current = draw(context, uid, store.getState());
      }, PAUSE_MS);
    };
    plan();
    const stops = [useDocuments, useRuns, useServer, useChecks, usePrefs].map((source) => source.subscribe(plan));
    stops.push(store.subscribe(plan));
    const media = matchMedia("(prefers-color-scheme: dark)");
    media.addEventListener("change", plan);
    return () => {
      if (timer !== null) clearTimeout(timer);
      for (const stop of stops) stop();
      media.removeEventListener("change", plan);
    };
  }, [uid, store]);

  const go = (event: PointerEvent<HTMLCanvasElement>) => {
    if (event.buttons !== 1) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const box = event.currentTarget.getBoundingClientRect();
    const { scale, left, top } = frame.current;
    const x = (event.clientX - box.left - left) / scale;
    const y = (event.clientY - box.top - top) / scale;
    void flow.setCenter(x, y, { zoom: flow.getZoom() });
  };

  return (
    <canvas
      ref={canvas}
      className="minimap"
      width={WIDTH * 2}
      height={HEIGHT * 2}
      style={{ width: WIDTH, height: HEIGHT }}
      role="img"
      aria-label={t("Minimap")}
      data-testid="minimap"
      onPointerDown={go}
      onPointerMove={go}
    />
  );
}

interface View {
  width: number;
  height: number;
  transform: [number, number, number];
}

function draw(context: CanvasRenderingContext2D, uid: string, { width, height, transform }: View): Frame {
  const doc = documentOf(uid)?.doc;
  const style = getComputedStyle(context.canvas);
  const color = (name: string) => style.getPropertyValue(name);
  context.resetTransform();
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  context.scale(2, 2);
  const ids = Object.keys(doc?.graph.nodes ?? {});
  if (!doc || !ids.length) return { scale: 1, left: 0, top: 0 };
  const [x, y, zoom] = transform;
  const view = { x: -x / zoom, y: -y / zoom, w: width / zoom, h: height / zoom };
  const boxes = ids.map((id) => ({ id, ...viewOf(doc, id), ...layoutOf(doc, catalogNow(), id) }));
  const all = [...boxes, view];
  const left = Math.min(...all.map((box) => box.x));
  const top = Math.min(...all.map((box) => box.y));
  const right = Math.max(...all.map((box) => box.x + box.w));
  const bottom = Math.max(...all.map((box) => box.y + box.h));
  const scale = Math.min((WIDTH - 2 * MARGIN) / (right - left), (HEIGHT - 2 * MARGIN) / (bottom - top));
  const shiftX = (WIDTH - (right - left) * scale) / 2 - left * scale;
  const shiftY = (HEIGHT - (bottom - top) * scale) / 2 - top * scale;
  const runs = useRuns.getState();
  const findings = useChecks.getState().checks[uid]?.diagnostics ?? [];
  const failed = new Set(findings.filter(({ severity }) => severity === "error").map(({ node_id }) => node_id));
  for (const box of boxes) {
    const run = shownRun(runs, uid, box.id);
    const node = run?.nodes[box.id];
    const isRunning = node?.state === "running" && run?.state === "running";
    const name = isRunning ? "--accent" : node?.error || failed.has(box.id) ? "--err" : "--mini";
    context.fillStyle = color(name);
    context.fillRect(box.x * scale + shiftX, box.y * scale + shiftY, Math.max(box.w * scale, 2), Math.max(box.h * scale, 2));
  }
  context.strokeStyle = color("--edge");
  context.lineWidth = 1;
  context.strokeRect(view.x * scale + shiftX, view.y * scale + shiftY, view.w * scale, view.h * scale);
  return { scale, left: shiftX, top: shiftY };
}
