import type { FromWorker, LiveControl, LoopDrawn, ToWorker } from "./messages";

type Listener = (message: Exclude<FromWorker, { op: "drawn" }>) => void;

/** The page's end of the worker that owns the connection and the pictures. */
export class Link {
  private readonly worker: Worker;
  private readonly surfaces = new Map<number, HTMLCanvasElement>();
  private nextSurface = 1;
  private seq = 0;

  constructor(listener: Listener) {
    this.worker = new Worker(new URL("./frames.worker.ts", import.meta.url), { type: "module", name: "frames" });
    this.worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
      if (data.op === "drawn") this.mark(data.drawn);
      else listener(data);
    });
  }

  open(): void {
    const url = new URL("/api/v1/events", window.location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    this.post({ op: "open", url: url.href });
    const motion = matchMedia("(prefers-reduced-motion: reduce)");
    const tell = () => this.post({ op: "motion", isReduced: motion.matches });
    motion.addEventListener("change", tell);
    tell();
  }

  subscribe(jobId: string): void {
    this.post({ op: "subscribe", jobId });
  }

  steered(jobId: string, nodeId: string): void {
    this.post({ op: "steered", jobId, nodeId });
  }

  forget(jobId: string): void {
    this.post({ op: "forget", jobId });
  }

  /** Numbers grow over reloads too, so that a returning page is never taken for a late one. */
  control(control: Omit<LiveControl, "seq" | "at">, at = Date.now()): number {
    this.seq = Math.max(this.seq + 1, Date.now());
    this.post({ op: "control", control: { ...control, seq: this.seq, at } });
    return this.seq;
  }

  /** Hands the canvas to the worker, which draws the stream on it until `detach`. */
  attach(canvas: HTMLCanvasElement, key: string): number {
    const surface = this.nextSurface;
    this.nextSurface += 1;
    this.surfaces.set(surface, canvas);
    const offscreen = canvas.transferControlToOffscreen();
    this.worker.postMessage({ op: "attach", surface, key, canvas: offscreen } satisfies ToWorker, [offscreen]);
    return surface;
  }

  detach(surface: number): void {
    this.surfaces.delete(surface);
    this.post({ op: "detach", surface });
  }

  /** Facts about the loop on a canvas, on the element itself: no render is needed for them. */
  private mark(drawn: LoopDrawn): void {
    const canvas = this.surfaces.get(drawn.surface);
    if (!canvas) return;
    canvas.dataset["step"] = String(drawn.step);
    canvas.dataset["stepCount"] = String(drawn.stepCount);
    canvas.dataset["frameCount"] = String(drawn.frameCount);
  }

  private post(message: ToWorker): void {
    this.worker.postMessage(message);
  }
}
