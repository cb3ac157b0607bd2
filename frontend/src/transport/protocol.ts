import type { ChunkFrames, PreviewFrame } from "../wire/api";

export type BinaryHeader = PreviewFrame | ChunkFrames;

export interface BinaryMessage {
  header: BinaryHeader;
  /** The pictures of the payload, in order; views on the message, not copies. */
  pictures: Uint8Array<ArrayBuffer>[];
}

const LENGTH_BYTES = 4;
const text = new TextDecoder();

/** Reads a binary message: u32 big-endian header length, JSON header, payload. Throws RangeError when it is cut short. */
export function unpackBinary(message: ArrayBuffer): BinaryMessage {
  if (message.byteLength < LENGTH_BYTES) {
    throw new RangeError(`a binary message holds at least ${LENGTH_BYTES} bytes, got ${message.byteLength}`);
  }
  const headerBytes = new DataView(message).getUint32(0);
  const start = LENGTH_BYTES + headerBytes;
  if (message.byteLength < start) {
    throw new RangeError(`the header is ${headerBytes} bytes, got ${message.byteLength - LENGTH_BYTES}`);
  }
  const header = JSON.parse(text.decode(new Uint8Array(message, LENGTH_BYTES, headerBytes))) as BinaryHeader;
  const expected = header.frame_bytes.reduce((sum, bytes) => sum + bytes, 0);
  if (expected !== message.byteLength - start) {
    throw new RangeError(`frame_bytes add up to ${expected}, the payload is ${message.byteLength - start} bytes`);
  }
  let offset = start;
  const pictures = header.frame_bytes.map((bytes) => {
    const picture = new Uint8Array(message, offset, bytes);
    offset += bytes;
    return picture;
  });
  return { header, pictures };
}

/** Names the stream of pictures that one node of one job makes. */
export const streamKey = (jobId: string, nodeId: string): string => `${jobId}/${nodeId}`;
