import { listen } from "../commands/dispatcher";
import { t } from "../i18n";
import { watchDocuments } from "../state/checks";
import { useDocuments } from "../state/documents";
import { newDocument, openTemplate } from "../state/files";
import { link } from "../state/link";
import { watchDrive } from "../state/live";
import { speak } from "../state/notices";
import { followAgain } from "../state/running";
import { useRuns } from "../state/runs";
import { refresh, useServer } from "../state/server";
import { keepSession, restoreSession } from "../state/session";

const FIRST_TEMPLATE = "generate-shapes";

/** Brings the page to life: catalog, then what was open before or a first workflow that runs as it is. */
export async function boot(): Promise<void> {
  listen();
  link().open();
  await Promise.all([refresh.catalog(), refresh.templates()]);
  const jobs = await restoreSession();
  if (jobs === null) await openFirst();
  keepSession();
  watchDocuments();
  watchDrive();
  announceRuns();
  if (jobs) await followAgain(jobs);
  requestIdleCallback(() => void Promise.all([import("../ui/MenuHost"), import("./Dialogs")]));
}

async function openFirst(): Promise<void> {
  const { templates } = useServer.getState();
  const first = templates.find(({ name }) => name === FIRST_TEMPLATE) ?? templates[0];
  if (first) await openTemplate(first.name);
  if (!useDocuments.getState().order.length) newDocument(t("Untitled"));
}

/** Says the end of each run aloud. */
function announceRuns(): void {
  const words = { completed: t("Run finished"), failed: t("Run failed"), cancelled: t("Run stopped") };
  useRuns.subscribe((state, before) => {
    for (const [jobId, run] of Object.entries(state.runs)) {
      if (run.state === "queued" || run.state === "running") continue;
      const known = before.runs[jobId];
      if (known && known.state !== run.state) speak(run.error ? `${words[run.state]}: ${run.error.message}` : words[run.state]);
    }
  });
}
