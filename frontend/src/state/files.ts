import { readWorkflow, WorkflowFileError, writeWorkflow, checkWorkflow } from "../document/file";
import { emptyWorkflow, type Workflow } from "../document/schema";
import { t } from "../i18n";
import { ApiError, rest } from "../transport/rest";
import { documentOf, markSaved, openDocument, type OpenDocument } from "./documents";
import { placed } from "./editing";
import { notify } from "./notices";
import { refresh } from "./server";
import { viewOfDocument } from "./view";

export const newDocument = (title: string): string => openDocument(emptyWorkflow(title));

const nameFor = (doc: Workflow): string =>
  `${(doc.title ?? "workflow").trim().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").toLowerCase() || "workflow"}.json`;

/** The document as it is written: with the camera where it is now. */
function written(open: OpenDocument): Workflow {
  const { camera } = viewOfDocument(open.uid);
  if (!camera) return open.doc;
  const rounded = { x: Math.round(camera.x), y: Math.round(camera.y), zoom: Number(camera.zoom.toFixed(3)) };
  return { ...open.doc, view: { ...open.doc.view, camera: rounded } };
}

/** Downloads the document as a JSON file. */
export function saveFile(uid: string): void {
  const open = documentOf(uid);
  if (!open) return;
  const url = URL.createObjectURL(new Blob([writeWorkflow(written(open))], { type: "application/json" }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = nameFor(open.doc);
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  markSaved(uid, open.doc);
}

export async function openFile(): Promise<void> {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = ".json,application/json";
  input.multiple = true;
  input.hidden = true;
  input.addEventListener("change", () => void openFiles([...(input.files ?? [])]).finally(() => input.remove()));
  input.addEventListener("cancel", () => input.remove());
  document.body.append(input);
  input.click();
}

/** Opens workflow files, each in a tab of its own. */
export async function openFiles(files: readonly File[]): Promise<void> {
  for (const file of files) {
    try {
      openDocument(placed(readWorkflow(await file.text())));
    } catch (error) {
      if (!(error instanceof WorkflowFileError)) throw error;
      notify(t("{file} was not opened: {reason}", { file: file.name, reason: error.message }), "error");
    }
  }
}

/** Saves to the server: a new workflow first, then versions of it. A newer version there is never overwritten. */
export async function saveToServer(uid: string): Promise<void> {
  const open = documentOf(uid);
  if (!open) return;
  const sent = open.doc;
  const document = written(open);
  try {
    const { workflow } = open.server
      ? await rest.saveWorkflow(open.server.workflowId, open.server.version, document)
      : await rest.createWorkflow(document);
    markSaved(uid, sent, { workflowId: workflow.workflow_id, version: workflow.version });
    notify(t("Saved, version {version}", { version: workflow.version }));
    await refresh.workflows();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    notify(t("Not saved: {reason}", { reason: error.message }), "error");
  }
}

async function opening(load: () => Promise<void>): Promise<void> {
  try {
    await load();
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof WorkflowFileError)) throw error;
    notify(error.message, "error");
  }
}

export const openFromServer = (workflowId: string): Promise<void> =>
  opening(async () => {
    const { workflow, document } = await rest.workflow(workflowId);
    const server = { workflowId: workflow.workflow_id, version: workflow.version };
    openDocument(placed(checkWorkflow(document)), { server });
  });

export const openTemplate = (name: string): Promise<void> =>
  opening(async () => {
    const { document } = await rest.template(name);
    openDocument(placed(checkWorkflow(document), true));
  });

/** Opens what a job was made from. */
export const openJobWorkflow = (jobId: string): Promise<void> =>
  opening(async () => {
    const { document } = await rest.jobWorkflow(jobId);
    openDocument(placed(checkWorkflow(document)));
  });
