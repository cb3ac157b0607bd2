import type {
  AdaptersReply,
  AssetsReply,
  CatalogReply,
  CheckpointsReply,
  CompileReply,
  Diagnostic,
  ErrorReply,
  JobDetailReply,
  JobReply,
  JobsReply,
  JobWorkflowReply,
  SystemReply,
  TemplateReply,
  TemplatesReply,
  UploadReply,
  WorkflowDetail,
  WorkflowReply,
  WorkflowsReply,
} from "../wire/api";
import type { Workflow } from "../document/schema";

const ROOT = "/api/v1";

/** A refusal of the server, in its words. `status` 0: it could not be reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly diagnostics: readonly Diagnostic[] = [],
  ) {
    super(message);
  }
}

async function ask<Reply>(path: string, init: RequestInit = {}): Promise<Reply> {
  let response: Response;
  try {
    response = await fetch(ROOT + path, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, "E_UNREACHABLE", "the server does not answer");
  }
  if (response.ok) return (response.status === 204 ? undefined : await response.json()) as Reply;
  throw await refusal(response);
}

async function refusal(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const { error, diagnostics } = JSON.parse(text) as ErrorReply;
    return new ApiError(response.status, error.code, error.message, diagnostics);
  } catch {
    return new ApiError(response.status, "E_HTTP", `${response.status} ${response.statusText}`);
  }
}

const sending = (method: string, body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method,
  body: JSON.stringify(body),
  headers: { "Content-Type": "application/json", ...headers },
});

const segment = encodeURIComponent;

export const rest = {
  nodes: () => ask<CatalogReply>("/nodes"),
  models: () => ask<CheckpointsReply>("/models"),
  adapters: () => ask<AdaptersReply>("/adapters"),
  assets: () => ask<AssetsReply>("/assets"),
  system: () => ask<SystemReply>("/system"),
  templates: () => ask<TemplatesReply>("/templates"),
  template: (name: string) => ask<TemplateReply>(`/templates/${segment(name)}`),
  workflows: () => ask<WorkflowsReply>("/workflows"),
  workflow: (id: string) => ask<WorkflowDetail>(`/workflows/${segment(id)}`),
  createWorkflow: (document: Workflow) => ask<WorkflowReply>("/workflows", sending("POST", { document })),
  saveWorkflow: (id: string, version: number, document: Workflow) =>
    ask<WorkflowReply>(`/workflows/${segment(id)}`, sending("PUT", { document }, { "If-Match": `"${version}"` })),
  deleteWorkflow: (id: string) => ask<void>(`/workflows/${segment(id)}`, { method: "DELETE" }),
  compile: (workflow: Workflow, signal: AbortSignal) =>
    ask<CompileReply>("/compile", { ...sending("POST", { workflow }), signal }),
  submit: (workflow: Workflow, targets: readonly string[] | null) =>
    ask<JobReply>("/jobs", sending("POST", { workflow, targets })),
  jobs: () => ask<JobsReply>("/jobs"),
  job: (id: string) => ask<JobDetailReply>(`/jobs/${segment(id)}`),
  jobWorkflow: (id: string) => ask<JobWorkflowReply>(`/jobs/${segment(id)}/workflow`),
  cancel: (id: string) => ask<unknown>(`/jobs/${segment(id)}/cancel`, { method: "POST" }),
  deleteJob: (id: string) => ask<void>(`/jobs/${segment(id)}`, { method: "DELETE" }),
  upload: (file: File) => {
    const form = new FormData();
    form.append("file", file, file.name);
    return ask<UploadReply>("/uploads", { method: "POST", body: form });
  },
};

export const assetUrl = (name: string): string => `${ROOT}/assets/${segment(name)}`;
