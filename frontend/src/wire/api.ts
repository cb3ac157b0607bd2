// Generated from backend/wire/v1 by `python -m rushes.backend.wire.export frontend/src/wire/`. Do not edit.

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

/** One finding of the compiler about one place of a workflow. */
export interface Diagnostic {
  /** Stable, e.g. E_OUT_OF_RANGE. Clients branch on this. */
  code: string;
  severity: "error" | "warning" | "note";
  /** For a person. May change between releases. */
  message: string;
  /** The node to mark; null when it is about the document. */
  node_id: string | null;
  /** Param or socket of that node. */
  param: string | null;
  expected: string | null;
  given: string | null;
  /** A value that would work, or null. */
  suggestion: JsonValue;
}

/** What went wrong, once. */
export interface ErrorInfo {
  /** Stable, e.g. E_NOT_FOUND. Clients branch on this. */
  code: string;
  /** For a person. May change between releases. */
  message: string;
  expected?: string | null;
  given?: string | null;
}

/** Why a job failed. */
export interface JobError {
  code: string;
  message: string;
  /** The node to mark red; null if none is to blame. */
  node_id: string | null;
}

/** Body of every reply with a status of 400 or more. */
export interface ErrorReply {
  error: ErrorInfo;
  diagnostics?: ReadonlyArray<Diagnostic>;
}

/** A node that yields an artifact when the job completes. */
export interface JobOutput {
  node_id: string;
  kind: "save_video" | "save_image" | "preview";
}

/** A rollout of a job: what a live control may say to it. */
export interface JobRollout {
  node_id: string;
  /** Null is endless. */
  chunk_count: number | null;
  /** Control keys it listens to; empty when it takes none live. */
  keys: ReadonlyArray<string>;
}

/** One run of one workflow. Times are seconds since 1970, UTC. */
export interface Job {
  job_id: string;
  state: "queued" | "running" | "completed" | "failed" | "cancelled";
  /** Title of the workflow. */
  title: string | null;
  /** Nodes it was asked to run to; null is every output. */
  targets: ReadonlyArray<string> | null;
  outputs: ReadonlyArray<JobOutput>;
  rollouts: ReadonlyArray<JobRollout>;
  spec_hash: string;
  /** Place in the queue, 0 is next; null unless queued. */
  position: number | null;
  /** How often it was started; a dead worker's job starts again. */
  attempt: number;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
  error: JobError | null;
}

/** Where one node of a job stands. */
export interface NodeProgress {
  node_id: string;
  state: "running" | "finished" | "failed";
  step: number | null;
  step_count: number | null;
  chunk_index: number | null;
  /** Null for an endless rollout, and for a node without chunks. */
  chunk_count: number | null;
  /** How long it took; null until finished. */
  seconds: number | null;
  is_cached: boolean;
}

/** A finished, stored, immutable output. */
export interface Artifact {
  /** SHA-256 of the bytes. */
  artifact_id: string;
  job_id: string;
  node_id: string;
  /** File name to save it under. */
  name: string;
  /** Path on this server. */
  url: string;
  media_type: string;
  width_px: number;
  height_px: number;
  frame_count: number;
  /** Null for a picture. */
  fps: number | null;
  size_bytes: number;
  /** SHA-256 of the fp32 latent it was decoded from. */
  latent_sha256: string | null;
}

/** A job with all a page needs to draw it after a reload. */
export interface JobSnapshot {
  job: Job;
  nodes: ReadonlyArray<NodeProgress>;
  artifacts: ReadonlyArray<Artifact>;
}

/** A picture or clip a workflow may name. */
export interface Asset {
  /** The name; no folders. */
  asset: string;
  kind: "image" | "video";
  origin: "shipped" | "upload";
  media_type: string;
  width_px: number;
  height_px: number;
  frame_count: number;
  /** 0 for a picture. */
  fps: number;
  size_bytes: number;
  content_id: string;
}

/** A model on the server's disk, with the facts that bound what it can be asked for. */
export interface Checkpoint {
  checkpoint: string;
  family: string;
  title: string;
  latent_channels: number;
  /** Pixels per latent cell. */
  spatial: number;
  /** Pixel frames per latent frame after the first. */
  temporal: number;
  patch: number;
  width_px: number;
  height_px: number;
  sizes_fixed: boolean;
  fps: number;
  frame_count_default: number;
  frame_count_max: number;
  chunk_latent_frames: number;
  step_count: number;
  flow_shift: number;
  guidance_scale: number;
  samplers: ReadonlyArray<string>;
  precisions: ReadonlyArray<string>;
  control_keys: ReadonlyArray<string>;
  capabilities: ReadonlyArray<string>;
  content_id: string;
  /** Highest rank of a LoRA it takes. */
  adapter_rank_max: number;
}

/** A LoRA file a workflow may name. */
export interface Adapter {
  adapter: string;
  content_id: string;
  bytes: number;
  /** Of the checkpoints it is for; null when nobody looked. */
  family: string | null;
  /** The highest of its layers; null when nobody looked. */
  rank: number | null;
}

/** A workflow kept on the server, without its document. */
export interface Workflow {
  workflow_id: string;
  title: string;
  /** Grows by one at each change; send it back in If-Match. */
  version: number;
  created_at: number;
  updated_at: number;
}

export interface WorkflowDetail {
  workflow: Workflow;
  document: Record<string, JsonValue>;
}

/** A workflow that ships with the program. */
export interface Template {
  name: string;
  title: string;
  description: string;
}

/** The process that computes. */
export interface WorkerStatus {
  state: "stopped" | "starting" | "ready" | "restarting" | "stopping" | "broken";
  /** cpu or cuda:0; null until ready. */
  device: string | null;
  device_name: string | null;
  /** Version of torch in the worker. */
  torch: string | null;
  restart_count: number;
}

export interface QueueStatus {
  queued: number;
  running: number;
  running_max: number;
}

export interface SystemReply {
  version: string;
  protocol: "rushes.v1";
  worker: WorkerStatus;
  queue: QueueStatus;
  upload_bytes_max: number;
}

export interface NodeInput {
  name: string;
  types: ReadonlyArray<string>;
  optional: boolean;
  doc: string;
}

export interface NodeOutput {
  name: string;
  type: string;
  doc: string;
}

export interface NodeParam {
  name: string;
  kind: "INT" | "FLOAT" | "TEXT" | "BOOL" | "CHOICE";
  default: JsonValue;
  minimum: number | null;
  maximum: number | null;
  step: number | null;
  multiline: boolean;
  choices: ReadonlyArray<string> | null;
  choices_from: "checkpoints" | "adapters" | "images" | "videos" | null;
  unit: string | null;
  doc: string;
  live: boolean;
  widget: "seed" | "slider" | "text" | "textarea" | "choice" | "toggle" | "number" | "script";
  /** Of a TEXT, in characters; null for other kinds. */
  max_length: number | null;
}

export interface NodeType {
  type_id: string;
  version: number;
  category: string;
  title: string;
  doc: string;
  inputs: ReadonlyArray<NodeInput>;
  outputs: ReadonlyArray<NodeOutput>;
  params: ReadonlyArray<NodeParam>;
  is_output: boolean;
}

export interface CatalogReply {
  nodes: Record<string, NodeType>;
}

/** A workflow to check. */
export interface CompileRequest {
  workflow: Record<string, JsonValue>;
  /** Run only these nodes and what they need; null is every output. */
  targets?: ReadonlyArray<string> | null;
}

/** A workflow to run. */
export interface JobRequest {
  workflow: Record<string, JsonValue>;
  /** Run only these nodes and what they need; null is every output. */
  targets?: ReadonlyArray<string> | null;
  /** How frames of rollouts travel; rgb24 is exact and large. */
  chunk_encoding?: "jpeg" | "rgb24";
}

/** What a run is predicted to cost. */
export interface CompileEstimate {
  /** Of the device; per second of video when endless. Null: not measured for this device. */
  seconds: number | null;
  bytes: number;
}

export interface CompileReply {
  ok: boolean;
  diagnostics: ReadonlyArray<Diagnostic>;
  /** The program as text a person can read; null when not ok. */
  explain: string | null;
  spec_hash: string | null;
  level: string | null;
  estimate: CompileEstimate | null;
}

export interface JobReply {
  job: Job;
  /** Warnings and notes of the compiler. */
  diagnostics: ReadonlyArray<Diagnostic>;
}

export interface JobDetailReply {
  job: Job;
  nodes: ReadonlyArray<NodeProgress>;
  artifacts: ReadonlyArray<Artifact>;
  diagnostics: ReadonlyArray<Diagnostic>;
  error: JobError | null;
  timings: Record<string, number>;
}

/** Newest first. */
export interface JobsReply {
  jobs: ReadonlyArray<Job>;
}

/** What the job was made from. */
export interface JobWorkflowReply {
  document: Record<string, JsonValue>;
  targets: ReadonlyArray<string> | null;
}

export interface ArtifactsReply {
  artifacts: ReadonlyArray<Artifact>;
}

export interface UploadReply {
  asset: Asset;
  /** The name that was asked for, when another content already had it; else null. */
  renamed_from: string | null;
}

export interface AssetsReply {
  assets: ReadonlyArray<Asset>;
}

export interface CheckpointsReply {
  checkpoints: ReadonlyArray<Checkpoint>;
}

export interface AdaptersReply {
  adapters: ReadonlyArray<Adapter>;
}

export interface WorkflowSaveRequest {
  document: Record<string, JsonValue>;
  /** Null takes the document's title. */
  title?: string | null;
}

export interface WorkflowReply {
  workflow: Workflow;
}

export interface WorkflowsReply {
  workflows: ReadonlyArray<Workflow>;
}

export interface TemplatesReply {
  templates: ReadonlyArray<Template>;
}

export interface TemplateReply {
  template: Template;
  document: Record<string, JsonValue>;
}

/** Answer to the client's hello: where the stream stands, and every job that is not over. */
export interface Hello {
  type: "hello";
  protocol: "rushes.v1";
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  /** Events after `since` are no longer kept; rely on the snapshots. */
  has_gap: boolean;
  jobs: ReadonlyArray<JobSnapshot>;
}

/** A client message was refused; the connection stays open. */
export interface ErrorMessage {
  type: "error";
  code: string;
  message: string;
  /** Path of the bad field, as `keys.0`. */
  field?: string | null;
  /** `type` of the refused message. */
  request?: string | null;
  job_id?: string | null;
}

export interface WorkerReady {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  type: "worker.ready";
  device: string;
  device_name: string;
  torch: string;
}

/** The computing process ended; it is started again, and its jobs are queued again or failed. */
export interface WorkerDied {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  type: "worker.died";
  exit_code: number | null;
  job_ids: ReadonlyArray<string>;
}

/** The computing process could not be started; queued jobs wait until the server is started again. */
export interface WorkerBroken {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  type: "worker.broken";
  message: string;
}

export interface JobQueued {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  job_id: string;
  type: "job.queued";
  /** 0 is next. Sent again when it changes. */
  position: number;
}

export interface JobStarted {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  job_id: string;
  type: "job.started";
}

export interface NodeStarted {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  job_id: string;
  node_id: string;
  type: "node.started";
}

export interface NodeFinished {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  job_id: string;
  node_id: string;
  type: "node.finished";
  seconds: number;
  is_cached: boolean;
}

export interface NodeFailed {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  job_id: string;
  node_id: string;
  type: "node.failed";
  code: string;
  message: string;
}

export interface JobProgress {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  job_id: string;
  node_id: string;
  type: "job.progress";
  step: number;
  step_count: number;
  chunk_index: number;
  /** Null is endless. */
  chunk_count: number | null;
}

/**
 * Header of one preview: a short loop of pictures of unfinished work.
 *
 * Lossy by contract: dropped when the connection is slow. The payload is the pictures one after another,
 * `frame_bytes` long each.
 */
export interface PreviewFrame {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  job_id: string;
  node_id: string;
  type: "preview.frame";
  /** 0 unless the node is a rollout. */
  chunk_index: number;
  /** Pixel frame within the whole video of the first picture. */
  frame_index: number;
  /** 1-based sampler step that produced it. */
  step: number;
  step_count: number;
  width_px: number;
  height_px: number;
  encoding: "jpeg";
  frame_count: number;
  frame_bytes: ReadonlyArray<number>;
}

/**
 * Header of consecutive frames of a rollout, finished. Never dropped.
 *
 * The payload is the frames one after another, `frame_bytes` long each; `rgb24` rows go from the top down,
 * not padded.
 */
export interface ChunkFrames {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  job_id: string;
  node_id: string;
  type: "chunk.frames";
  chunk_index: number;
  part_index: number;
  part_count: number;
  /** Index in the whole rollout of the first frame here. */
  frame_index: number;
  frame_count: number;
  width_px: number;
  height_px: number;
  fps: number;
  encoding: "jpeg" | "rgb24";
  frame_bytes: ReadonlyArray<number>;
  /** Last control message this chunk used. */
  control_seq: number | null;
  /** Keys held in each latent frame. */
  keys: ReadonlyArray<ReadonlyArray<string>>;
  /** Time from the chunk's start to this part, in the worker. */
  made_ms: number;
}

/** A control message took effect. `control_seq` is the number the client gave it. */
export interface ControlApplied {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  job_id: string;
  node_id: string;
  type: "control.applied";
  control_seq: number;
  chunk_index: number;
  is_late: boolean;
}

/** The fields of `Artifact`. */
export interface ArtifactCreated {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  job_id: string;
  node_id: string;
  type: "artifact.created";
  artifact_id: string;
  name: string;
  url: string;
  media_type: string;
  width_px: number;
  height_px: number;
  frame_count: number;
  fps: number | null;
  size_bytes: number;
  latent_sha256: string | null;
}

export interface JobCompleted {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  job_id: string;
  type: "job.completed";
  timings: Record<string, number>;
}

export interface JobFailed {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  job_id: string;
  type: "job.failed";
  code: string;
  message: string;
  /** The node to mark red; null if none is to blame. */
  node_id: string | null;
}

export interface JobCancelled {
  /** Number of the event in the server's one stream; only grows. */
  seq: number;
  job_id: string;
  type: "job.cancelled";
}

export interface ClientHello {
  type: "hello";
  /** Last seq seen before a reconnect; null starts with what comes from now on. */
  since?: number | null;
}

/** Send me the events of this job, or of all, from my `since` on. A job may be named before it exists. */
export interface Subscribe {
  type: "subscribe";
  job_id: string | "*";
  /** I send chunk.ack when I have shown a chunk; until then it counts as unread. False: a chunk is read when it was sent. */
  acks?: boolean;
}

export interface Unsubscribe {
  type: "unsubscribe";
  job_id: string | "*";
}

/** Steer a running rollout. A field left null keeps what holds. */
export interface JobControl {
  type: "job.control";
  job_id: string;
  node_id: string;
  /** The client's own growing number; chunks name the last one used. */
  seq: number;
  /** First chunk it is for; null is the next. */
  wanted_chunk?: number | null;
  /** All keys held from now on. */
  keys?: ReadonlyArray<string> | null;
  prompt?: string | null;
  /** End the rollout, save what was made. */
  stop?: boolean;
}

export interface ChunkAck {
  type: "chunk.ack";
  job_id: string;
  node_id: string;
  chunk_index: number;
}

export interface JobCancel {
  type: "job.cancel";
  job_id: string;
}

export type ServerEvent =
  | WorkerReady
  | WorkerDied
  | WorkerBroken
  | JobQueued
  | JobStarted
  | NodeStarted
  | NodeFinished
  | NodeFailed
  | JobProgress
  | PreviewFrame
  | ChunkFrames
  | ControlApplied
  | ArtifactCreated
  | JobCompleted
  | JobFailed
  | JobCancelled;

export type ServerMessage =
  | Hello
  | ErrorMessage
  | WorkerReady
  | WorkerDied
  | WorkerBroken
  | JobQueued
  | JobStarted
  | NodeStarted
  | NodeFinished
  | NodeFailed
  | JobProgress
  | PreviewFrame
  | ChunkFrames
  | ControlApplied
  | ArtifactCreated
  | JobCompleted
  | JobFailed
  | JobCancelled;

export type ClientMessage =
  | ClientHello
  | Subscribe
  | Unsubscribe
  | JobControl
  | ChunkAck
  | JobCancel;
