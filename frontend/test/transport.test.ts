import { describe, expect, it } from "vitest";
import { type Frame, JITTER_MS, LatencyMeter, Playback } from "../src/transport/playback";
import { unpackBinary } from "../src/transport/protocol";

function packed(header: object, payload: Uint8Array): ArrayBuffer {
  const head = new TextEncoder().encode(JSON.stringify(header));
  const message = new Uint8Array(4 + head.length + payload.length);
  new DataView(message.buffer).setUint32(0, head.length);
  message.set(head, 4);
  message.set(payload, 4 + head.length);
  return message.buffer;
}

describe("binary messages", () => {
  const payload = Uint8Array.from([1, 2, 3, 4, 5]);

  it("split into header and pictures, without a copy", () => {
    const message = packed({ type: "chunk.frames", frame_bytes: [2, 3] }, payload);
    const { header, pictures } = unpackBinary(message);
    expect(header.type).toBe("chunk.frames");
    expect(pictures.map((picture) => [...picture])).toEqual([[1, 2], [3, 4, 5]]);
    expect(pictures[0]?.buffer).toBe(message);
  });

  it("are refused when they are cut short or do not add up", () => {
    const message = packed({ type: "preview.frame", frame_bytes: [2, 3] }, payload);
    expect(() => unpackBinary(message.slice(0, 2))).toThrow(RangeError);
    expect(() => unpackBinary(message.slice(0, 20))).toThrow(/header is/);
    expect(() => unpackBinary(message.slice(0, message.byteLength - 1))).toThrow(/add up to 5/);
  });
});

/** One part: the frames of one latent frame, of a chunk of 12 at 16 fps. */
function part(chunkIndex: number, partIndex: number, controlSeq: number | null = null): Frame<string>[] {
  return [0, 1, 2, 3].map((index) => ({
    picture: `${chunkIndex}.${partIndex}.${index}`,
    chunkIndex,
    frameIndex: chunkIndex * 12 + partIndex * 4 + index,
    chunkFrames: 12,
    isChunkEnd: partIndex === 2 && index === 3,
    fps: 16,
    controlSeq,
    keys: [],
  }));
}

/** Plays until nothing is due within `until`, and notes when each frame was drawn. */
function play(playback: Playback<string>, from: number, until: number): { picture: string; at: number }[] {
  const drawn: { picture: string; at: number }[] = [];
  for (let now = from; now <= until; now += 1) {
    const frame = playback.take(now).drawn;
    if (frame) drawn.push({ picture: frame.picture, at: now });
  }
  return drawn;
}

describe("playback", () => {
  it("draws at the stream's rate, after a short wait", () => {
    const playback = new Playback<string>();
    playback.push(part(0, 0), 0);
    const drawn = play(playback, 0, 1000);
    expect(drawn.map(({ at }) => at)).toEqual([JITTER_MS, 123, 185, 248]);
    expect(playback.wait(1000)).toBeNull();
  });

  it("goes on at once after running dry", () => {
    const playback = new Playback<string>();
    playback.push(part(0, 0), 0);
    play(playback, 0, 1000);
    playback.push(part(0, 1), 1000);
    expect(play(playback, 1000, 1400)[0]).toEqual({ picture: "0.1.0", at: 1000 });
  });

  it("a scripted stream plays every frame, however far ahead it is made", () => {
    const playback = new Playback<string>();
    for (let chunk = 0; chunk < 6; chunk += 1) {
      for (const index of [0, 1, 2]) expect(playback.push(part(chunk, index), chunk)).toEqual([]);
    }
    expect(play(playback, 0, 6000)).toHaveLength(72);
  });

  it("a live stream holds one chunk at most and gives up the oldest", () => {
    const playback = new Playback<string>();
    playback.isLive = true;
    for (const index of [0, 1, 2]) playback.push(part(0, index), 0);
    const passed = playback.push(part(1, 0), 0);
    expect(passed.map(({ picture }) => picture)).toEqual(["0.0.0", "0.0.1", "0.0.2", "0.0.3"]);
    expect(playback.bufferMs).toBe(750);
  });

  it("a live stream that lags plays a little faster until it has caught up", () => {
    const lagging = new Playback<string>();
    const steady = new Playback<string>();
    lagging.isLive = true;
    for (let index = 0; index < 24; index += 1) {
      const arrives = index * 250;
      lagging.push(part(Math.floor(index / 3), index % 3), index === 0 ? 0 : Math.max(arrives - 240, 0));
      steady.push(part(Math.floor(index / 3), index % 3), arrives);
      play(lagging, arrives, arrives + 249);
      play(steady, arrives, arrives + 249);
    }
    expect(lagging.bufferMs).toBeLessThanOrEqual(300);
    expect(steady.bufferMs).toBeLessThanOrEqual(300);
  });

  it("never draws a frame twice and lets late ones pass", () => {
    const playback = new Playback<string>();
    playback.push(part(0, 0), 0);
    const { drawn, passed } = playback.take(10_000);
    expect(drawn?.picture).toBe("0.0.3");
    expect(passed.map(({ picture }) => picture)).toEqual(["0.0.0", "0.0.1", "0.0.2"]);
  });
});

describe("latency", () => {
  it("runs from the control to the first frame made under it or a later one", () => {
    const meter = new LatencyMeter();
    meter.sent(1, 0);
    meter.sent(2, 100);
    meter.drawn(null, 200);
    expect(meter.summary()).toBeNull();
    meter.drawn(1, 400);
    meter.drawn(1, 450);
    meter.drawn(3, 700);
    expect(meter.summary()).toEqual({ count: 2, last_ms: 600, p50_ms: 600, p95_ms: 600 });
  });
});
