import type { ClientMessage, ServerMessage } from "../wire/api";
import type { LinkState } from "./messages";

interface Handlers {
  onState: (state: LinkState) => void;
  onText: (message: ServerMessage) => void;
  /** Returns the message's place in the event stream. */
  onBinary: (data: ArrayBuffer) => number;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 4000;
const TERMINAL = new Set(["job.completed", "job.failed", "job.cancelled"]);

/** The events WebSocket: says hello with the last seen place in the stream, comes back after a break, and asks again
 * for the jobs it followed, so that nothing in between is lost. */
export class Connection {
  private socket: WebSocket | null = null;
  private url = "";
  private seq: number | null = null;
  private pause = FIRST_PAUSE_MS;
  private isGreeted = false;
  private readonly jobs = new Set<string>();
  private waiting: ClientMessage[] = [];

  constructor(private readonly handlers: Handlers) {}

  open(url: string): void {
    this.url = url;
    this.connect();
  }

  subscribe(jobId: string): void {
    this.jobs.add(jobId);
    if (this.isGreeted) this.write({ type: "subscribe", job_id: jobId, acks: true });
  }

  /** Messages of a time without connection wait for the next one, but never a chunk's ack or a key press. */
  send(message: ClientMessage): void {
    if (this.isGreeted) this.write(message);
    else if (message.type === "job.cancel") this.waiting.push(message);
  }

  private connect(): void {
    this.handlers.onState("connecting");
    const socket = new WebSocket(this.url);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.addEventListener("open", () => this.write({ type: "hello", since: this.seq }));
    socket.addEventListener("message", ({ data }: MessageEvent<string | ArrayBuffer>) => this.receive(data));
    socket.addEventListener("close", () => this.lose());
  }

  private receive(data: string | ArrayBuffer): void {
    if (typeof data !== "string") {
      this.seq = this.handlers.onBinary(data);
      return;
    }
    const message = JSON.parse(data) as ServerMessage;
    if (message.type === "hello") this.greet(message.seq);
    else if (message.type !== "error") this.seq = message.seq;
    if (TERMINAL.has(message.type) && "job_id" in message) this.jobs.delete(message.job_id ?? "");
    this.handlers.onText(message);
  }

  private greet(seq: number): void {
    this.isGreeted = true;
    this.pause = FIRST_PAUSE_MS;
    if (this.seq === null || seq < this.seq) this.seq = seq;
    for (const jobId of this.jobs) this.write({ type: "subscribe", job_id: jobId, acks: true });
    for (const message of this.waiting.splice(0)) this.write(message);
    this.handlers.onState("open");
  }

  private lose(): void {
    this.isGreeted = false;
    this.handlers.onState("closed");
    setTimeout(() => this.connect(), this.pause);
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
  }

  private write(message: ClientMessage): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}
