import type { ClientMessage, ServerEvent, Hello, ErrorMessage } from "../wire/api";
import type { LatencySummary } from "./playback";

export type LinkState = "connecting" | "open" | "closed";

/** JSON events; pictures stay in the worker. */
export type QuietEvent = Exclude<ServerEvent, { type: "preview.frame" | "chunk.frames" }>;

export interface LiveStats {
  jobId: string;
  nodeId: string;
  chunkIndex: number;
  frameIndex: number;
  width_px: number;
  height_px: number;
  /** Frames drawn per second, over the last second. */
  fps: number;
  wanted_fps: number;
  buffer_ms: number;
  keys: readonly string[];
  control_seq: number | null;
  made_ms: number;
  latency: LatencySummary | null;
}

export interface LoopDrawn {
  surface: number;
  step: number;
  stepCount: number;
  frameCount: number;
  width_px: number;
  height_px: number;
}

export interface LiveControl {
  jobId: string;
  nodeId: string;
  seq: number;
  /** When the person acted, ms since 1970. */
  at: number;
  keys?: readonly string[];
  prompt?: string;
  isStop?: boolean;
}

export type ToWorker =
  | { op: "open"; url: string }
  /** With reduced motion a preview is a still: the last picture of its loop. */
  | { op: "motion"; isReduced: boolean }
  | { op: "subscribe"; jobId: string }
  /** A person steers this rollout: its delay matters more than every frame. */
  | { op: "steered"; jobId: string; nodeId: string }
  | { op: "send"; message: ClientMessage }
  | { op: "control"; control: LiveControl }
  | { op: "attach"; surface: number; key: string; canvas: OffscreenCanvas }
  | { op: "retarget"; surface: number; key: string }
  | { op: "detach"; surface: number }
  | { op: "forget"; jobId: string };

export type FromWorker =
  | { op: "link"; state: LinkState }
  | { op: "hello"; hello: Hello }
  | { op: "refused"; error: ErrorMessage }
  | { op: "event"; event: QuietEvent }
  /** The first picture of a stream has been decoded. */
  | { op: "stream"; jobId: string; nodeId: string; isRollout: boolean }
  | { op: "drawn"; drawn: LoopDrawn }
  | { op: "live"; stats: LiveStats };
