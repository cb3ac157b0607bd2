/// <reference lib="webworker" />
/** Owns the events connection and every picture: decodes in this thread, draws to OffscreenCanvas. The page gets JSON
 * events and, a few times a second, numbers. */
import type { ChunkFrames, ClientMessage, PreviewFrame, ServerMessage } from "../wire/api";
import { Connection } from "./connection";
import type { FromWorker, LiveControl, QuietEvent, ToWorker } from "./messages";
import { type Frame, LatencyMeter, Playback } from "./playback";
import { streamKey, unpackBinary } from "./protocol";

interface Surface {
  id: number;
  canvas: OffscreenCanvas;
  context: OffscreenCanvasRenderingContext2D;
}

interface Stream {
  jobId: string;
  nodeId: string;
  surfaces: Map<number, Surface>;
  loop: ImageBitmap[];
  loopHeader: PreviewFrame | null;
  loopStart: number;
  loopIndex: number;
  playback: Playback<ImageBitmap>;
  meter: LatencyMeter;
  last: ImageBitmap | null;
  lastHeader: ChunkFrames | null;
  drawTimes: number[];
  chunkCounts: Map<number, number>;
  decoding: Promise<void>;
  previewsWaiting: number;
  isKnown: boolean;
  statsAt: number;
}

const LOOP_FPS = 8;
const STATS_MS = 250;
const SURFACE_PX = 1024;

const streams = new Map<string, Stream>();
const surfaceKeys = new Map<number, string>();
let timer: ReturnType<typeof setTimeout> | null = null;
let isReduced = false;

const post = (message: FromWorker) => self.postMessage(message);
const now = () => performance.timeOrigin + performance.now();

const connection = new Connection({
  onState: (state) => post({ op: "link", state }),
  onText: (message: ServerMessage) => {
    if (message.type === "hello") post({ op: "hello", hello: message });
    else if (message.type === "error") post({ op: "refused", error: message });
    else post({ op: "event", event: message as QuietEvent });
  },
  onBinary: (data) => {
    const { header, pictures } = unpackBinary(data);
    if (header.type === "preview.frame") takePreview(header, pictures);
    else takeChunk(header, pictures);
    return header.seq;
  },
});

function streamOf(jobId: string, nodeId: string): Stream {
  const key = streamKey(jobId, nodeId);
  const known = streams.get(key);
  if (known) return known;
  const made: Stream = {
    jobId,
    nodeId,
    surfaces: new Map(),
    loop: [],
    loopHeader: null,
    loopStart: 0,
    loopIndex: -1,
    playback: new Playback(),
    meter: new LatencyMeter(),
    last: null,
    lastHeader: null,
    drawTimes: [],
    chunkCounts: new Map(),
    decoding: Promise.resolve(),
    previewsWaiting: 0,
    isKnown: false,
    statsAt: 0,
  };
  streams.set(key, made);
  return made;
}

async function decode(
  header: PreviewFrame | ChunkFrames,
  pictures: Uint8Array<ArrayBuffer>[],
): Promise<ImageBitmap[]> {
  return Promise.all(
    pictures.map((picture) => {
      if (header.encoding === "jpeg") return createImageBitmap(new Blob([picture], { type: "image/jpeg" }));
      return createImageBitmap(rgbImage(picture, header.width_px, header.height_px));
    }),
  );
}

function rgbImage(rgb: Uint8Array, width: number, height: number): ImageData {
  const rgba = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let from = 0, to = 0; from < rgb.length; from += 3, to += 4) {
    rgba[to] = rgb[from] as number;
    rgba[to + 1] = rgb[from + 1] as number;
    rgba[to + 2] = rgb[from + 2] as number;
  }
  return new ImageData(rgba, width, height);
}

/** Newest preview wins: one that is overtaken while it waits is not decoded. */
function takePreview(header: PreviewFrame, pictures: Uint8Array<ArrayBuffer>[]): void {
  const stream = streamOf(header.job_id, header.node_id);
  stream.previewsWaiting += 1;
  stream.decoding = stream.decoding.then(async () => {
    stream.previewsWaiting -= 1;
    if (stream.previewsWaiting > 0) return;
    const loop = await decode(header, pictures);
    for (const old of stream.loop) old.close();
    stream.loop = loop;
    stream.loopHeader = header;
    stream.loopStart = now();
    stream.loopIndex = -1;
    announce(stream, false);
    tick();
  });
}

function takeChunk(header: ChunkFrames, pictures: Uint8Array<ArrayBuffer>[]): void {
  const stream = streamOf(header.job_id, header.node_id);
  if (header.control_seq !== null) stream.playback.isLive = true;
  stream.decoding = stream.decoding.then(async () => {
    const bitmaps = await decode(header, pictures);
    stream.lastHeader = header;
    const count = (stream.chunkCounts.get(header.chunk_index) ?? 0) + header.frame_count;
    stream.chunkCounts.set(header.chunk_index, count);
    const isLastPart = header.part_index === header.part_count - 1;
    const chunkFrames = Math.max(count, header.frame_count * header.part_count);
    const frames = bitmaps.map(
      (picture, index): Frame<ImageBitmap> => ({
        picture,
        chunkIndex: header.chunk_index,
        frameIndex: header.frame_index + index,
        chunkFrames,
        isChunkEnd: isLastPart && index === bitmaps.length - 1,
        fps: header.fps,
        controlSeq: header.control_seq,
        keys: header.keys[header.part_index] ?? [],
      }),
    );
    if (isLastPart) stream.chunkCounts.delete(header.chunk_index);
    for (const frame of stream.playback.push(frames, now())) pass(stream, frame);
    announce(stream, true);
    tick();
  });
}

function announce(stream: Stream, isRollout: boolean): void {
  if (stream.isKnown) return;
  stream.isKnown = true;
  post({ op: "stream", jobId: stream.jobId, nodeId: stream.nodeId, isRollout });
}

/** A frame that is not shown any more. A chunk counts as seen when its last frame was shown or passed by. */
function pass(stream: Stream, frame: Frame<ImageBitmap>): void {
  if (frame.isChunkEnd) ack(stream, frame.chunkIndex);
  if (frame.picture !== stream.last) frame.picture.close();
}

function ack(stream: Stream, chunkIndex: number): void {
  send({ type: "chunk.ack", job_id: stream.jobId, node_id: stream.nodeId, chunk_index: chunkIndex });
}

function paint(surface: Surface, picture: ImageBitmap): void {
  const scale = Math.min(1, SURFACE_PX / Math.max(picture.width, picture.height));
  const width = Math.round(picture.width * scale);
  const height = Math.round(picture.height * scale);
  if (surface.canvas.width !== width || surface.canvas.height !== height) {
    surface.canvas.width = width;
    surface.canvas.height = height;
  }
  surface.context.drawImage(picture, 0, 0, width, height);
}

function drawRollout(stream: Stream, at: number): void {
  const { drawn, passed } = stream.playback.take(at);
  for (const frame of passed) pass(stream, frame);
  if (!drawn) return;
  for (const surface of stream.surfaces.values()) paint(surface, drawn.picture);
  if (stream.last) stream.last.close();
  stream.last = drawn.picture;
  const drawnAt = now();
  stream.meter.drawn(drawn.controlSeq, drawnAt);
  stream.drawTimes = [...stream.drawTimes.filter((time) => time > drawnAt - 1000), drawnAt];
  if (drawn.isChunkEnd) ack(stream, drawn.chunkIndex);
  if (drawnAt - stream.statsAt >= STATS_MS) report(stream, drawn, drawnAt);
}

function report(stream: Stream, frame: Frame<ImageBitmap>, at: number): void {
  stream.statsAt = at;
  post({
    op: "live",
    stats: {
      jobId: stream.jobId,
      nodeId: stream.nodeId,
      chunkIndex: frame.chunkIndex,
      frameIndex: frame.frameIndex,
      width_px: frame.picture.width,
      height_px: frame.picture.height,
      fps: stream.drawTimes.length,
      wanted_fps: frame.fps,
      buffer_ms: stream.playback.bufferMs,
      keys: frame.keys,
      control_seq: frame.controlSeq,
      made_ms: stream.lastHeader?.made_ms ?? 0,
      latency: stream.meter.summary(),
    },
  });
}

function drawLoop(stream: Stream, at: number): void {
  const header = stream.loopHeader;
  if (!header || stream.last || !stream.surfaces.size) return;
  const turn = Math.floor(((at - stream.loopStart) / 1000) * LOOP_FPS);
  const index = isReduced ? stream.loop.length - 1 : turn % stream.loop.length;
  if (index === stream.loopIndex) return;
  const isFirst = stream.loopIndex < 0;
  stream.loopIndex = index;
  for (const surface of stream.surfaces.values()) {
    paint(surface, stream.loop[index] as ImageBitmap);
    if (isFirst) postDrawn(surface, header);
  }
}

function postDrawn(surface: Surface, header: PreviewFrame): void {
  post({
    op: "drawn",
    drawn: {
      surface: surface.id,
      step: header.step,
      stepCount: header.step_count,
      frameCount: header.frame_count,
      width_px: header.width_px,
      height_px: header.height_px,
    },
  });
}

/** Draws what is due and sleeps until the next thing is: nothing runs while nothing moves. */
function tick(): void {
  if (timer !== null) clearTimeout(timer);
  timer = null;
  const at = now();
  let wait = Number.POSITIVE_INFINITY;
  for (const stream of streams.values()) {
    drawRollout(stream, at);
    drawLoop(stream, at);
    wait = Math.min(wait, stream.playback.wait(now()) ?? Number.POSITIVE_INFINITY);
    const isLooping = stream.loop.length > 1 && stream.surfaces.size > 0 && !stream.last && !isReduced;
    if (isLooping) wait = Math.min(wait, 1000 / LOOP_FPS / 2);
  }
  if (Number.isFinite(wait)) timer = setTimeout(tick, wait);
}

function attach(id: number, key: string, canvas: OffscreenCanvas): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  moveSurface({ id, canvas, context }, key);
}

function moveSurface(surface: Surface, key: string): void {
  detach(surface.id);
  const cut = key.indexOf("/");
  const stream = streamOf(key.slice(0, cut), key.slice(cut + 1));
  stream.surfaces.set(surface.id, surface);
  surfaceKeys.set(surface.id, key);
  const picture = stream.last ?? stream.loop[Math.max(stream.loopIndex, 0)];
  if (picture) paint(surface, picture);
  if (picture && !stream.last && stream.loopHeader) postDrawn(surface, stream.loopHeader);
  tick();
}

function detach(id: number): Surface | null {
  const key = surfaceKeys.get(id);
  const stream = key === undefined ? undefined : streams.get(key);
  const surface = stream?.surfaces.get(id) ?? null;
  stream?.surfaces.delete(id);
  surfaceKeys.delete(id);
  return surface;
}

function forget(jobId: string): void {
  for (const [key, stream] of streams) {
    if (stream.jobId !== jobId || stream.surfaces.size) continue;
    for (const picture of stream.loop) picture.close();
    for (const frame of stream.playback.clear()) frame.picture.close();
    stream.last?.close();
    streams.delete(key);
  }
}

function control({ jobId, nodeId, seq, at, keys, prompt, isStop }: LiveControl): void {
  const stream = streamOf(jobId, nodeId);
  stream.playback.isLive = true;
  if (keys) stream.meter.sent(seq, at);
  send({
    type: "job.control",
    job_id: jobId,
    node_id: nodeId,
    seq,
    keys: keys ?? null,
    prompt: prompt ?? null,
    stop: isStop ?? false,
  });
}

function send(message: ClientMessage): void {
  connection.send(message);
}

self.addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
  switch (data.op) {
    case "open":
      return connection.open(data.url);
    case "motion":
      isReduced = data.isReduced;
      return tick();
    case "subscribe":
      return connection.subscribe(data.jobId);
    case "steered":
      streamOf(data.jobId, data.nodeId).playback.isLive = true;
      return;
    case "send":
      return send(data.message);
    case "control":
      return control(data.control);
    case "attach":
      return attach(data.surface, data.key, data.canvas);
    case "retarget": {
      const surface = detach(data.surface);
      if (surface) moveSurface(surface, data.key);
      return;
    }
    case "detach":
      return void detach(data.surface);
    case "forget":
      return forget(data.jobId);
  }
});
