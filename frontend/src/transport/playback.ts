/** When each frame of a rollout is drawn. Pure: time comes in, decisions go out. */

export interface Frame<Picture> {
  picture: Picture;
  chunkIndex: number;
  frameIndex: number;
  /** Frames in the whole chunk, as far as known. */
  chunkFrames: number;
  isChunkEnd: boolean;
  fps: number;
  controlSeq: number | null;
  keys: readonly string[];
}

/** Time the first frame waits for its followers, and what is left in hand when nothing is late. */
export const JITTER_MS = 60;
const FAST_RATE = 1.1;
const SLACK_LIMIT_MS = 90;
const SLACKS_KEPT = 6;

/** Plays frames at their fps.
 *
 * A live stream keeps its delay small: when frames lie waiting longer than needed it plays a little faster, and it
 * never holds more than one chunk. A scripted stream plays every frame at its pace.
 */
export class Playback<Picture> {
  private queue: Frame<Picture>[] = [];
  private due: number | null = null;
  private slacks: number[] = [];
  isLive = false;

  /** Frames come in order, a part at a time. Returns those given up to keep the delay within one chunk. */
  push(frames: readonly Frame<Picture>[], now: number): Frame<Picture>[] {
    const first = frames[0];
    if (!first) return [];
    const interval = 1000 / first.fps;
    const startsAt = this.due === null ? now + JITTER_MS : Math.max(this.due, now) + this.queue.length * interval;
    if (this.due === null || (this.queue.length === 0 && this.due < now)) this.due = startsAt;
    this.slacks = [...this.slacks, startsAt - now].slice(-SLACKS_KEPT);
    this.queue.push(...frames);
    if (!this.isLive) return [];
    const excess = this.queue.length - Math.max(first.chunkFrames, frames.length);
    return excess > 0 ? this.queue.splice(0, excess) : [];
  }

  /** The frame to draw at `now`, if one is due. Later frames that are due too pass by, the newest is drawn. */
  take(now: number): { drawn: Frame<Picture> | null; passed: Frame<Picture>[] } {
    const passed: Frame<Picture>[] = [];
    let drawn: Frame<Picture> | null = null;
    while (this.due !== null && this.due <= now && this.queue.length) {
      if (drawn) passed.push(drawn);
      drawn = this.queue.shift() as Frame<Picture>;
      this.due += 1000 / (drawn.fps * this.rate);
    }
    return { drawn, passed };
  }

  /** Milliseconds until the next frame is due; null when there is none. */
  wait(now: number): number | null {
    return this.due === null || !this.queue.length ? null : Math.max(this.due - now, 0);
  }

  get bufferMs(): number {
    const fps = this.queue[0]?.fps;
    return fps ? (this.queue.length * 1000) / fps : 0;
  }

  clear(): Frame<Picture>[] {
    this.due = null;
    return this.queue.splice(0);
  }

  private get rate(): number {
    if (!this.isLive || this.slacks.length < SLACKS_KEPT) return 1;
    return Math.min(...this.slacks) > SLACK_LIMIT_MS ? FAST_RATE : 1;
  }
}

const SAMPLES_KEPT = 200;

export interface LatencySummary {
  count: number;
  last_ms: number;
  p50_ms: number;
  p95_ms: number;
}

/** Key to picture: from sending a control to drawing the first frame made under it or a later one. */
export class LatencyMeter {
  private pending: { seq: number; at: number }[] = [];
  private samples: number[] = [];
  private count = 0;

  sent(seq: number, at: number): void {
    this.pending.push({ seq, at });
  }

  drawn(controlSeq: number | null, now: number): void {
    if (controlSeq === null) return;
    while (this.pending[0] && this.pending[0].seq <= controlSeq) {
      const control = this.pending.shift() as { seq: number; at: number };
      this.samples = [...this.samples, now - control.at].slice(-SAMPLES_KEPT);
      this.count += 1;
    }
  }

  summary(): LatencySummary | null {
    const last = this.samples.at(-1);
    if (last === undefined) return null;
    const sorted = [...this.samples].sort((left, right) => left - right);
    const at = (share: number) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] as number;
    return { count: this.count, last_ms: last, p50_ms: at(0.5), p95_ms: at(0.95) };
  }
}
