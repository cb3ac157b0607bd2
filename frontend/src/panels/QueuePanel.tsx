import { t } from "../i18n";
import { openJobWorkflow } from "../state/files";
import { duration } from "../state/nodeStatus";
import { cancel, stop } from "../state/running";
import { useRuns } from "../state/runs";
import { useServer } from "../state/server";
import { Button } from "../ui/Button";
import type { Job } from "../wire/api";
import { ago } from "./ago";

/** Jobs of this server, newest first. */
export function QueuePanel() {
  const jobs = useServer((state) => state.jobs);
  if (!jobs.length) {
    return (
      <p className="panel__empty">
        {t("Runs appear here, with what they made.")} <kbd>Ctrl</kbd> <kbd>Enter</kbd>
      </p>
    );
  }
  return (
    <ul>
      {jobs.map((job) => (
        <JobRow key={job.job_id} job={job} />
      ))}
    </ul>
  );
}

function JobRow({ job }: { job: Job }) {
  const run = useRuns((state) => state.runs[job.job_id]);
  const state = run?.state ?? job.state;
  const isActive = state === "queued" || state === "running";
  const end = () => (run ? stop(run) : void cancel(job.job_id));
  return (
    <li className="job" data-state={state} data-job={job.job_id}>
      <span className="job__dot" aria-hidden="true" />
      <span className="job__title">{job.title ?? t("Untitled")}</span>
      <span className="job__note">{noteOf(job, state)}</span>
      {isActive ? (
        <Button isSmall variant="stop" icon="stop" label={t("Stop this run")} onClick={end} />
      ) : (
        <Button isSmall icon="folder" label={t("Open its workflow")} onClick={() => void openJobWorkflow(job.job_id)} />
      )}
      {job.error && state === "failed" && <p className="job__error">{job.error.message}</p>}
    </li>
  );
}

function noteOf(job: Job, state: Job["state"]): string {
  if (state === "queued") return job.position === null ? t("queued") : t("queued, {n}", { n: job.position + 1 });
  if (state === "running") return t("running");
  const seconds = job.finished_at !== null && job.started_at !== null ? job.finished_at - job.started_at : null;
  const took = seconds === null ? "" : ` · ${duration(seconds)}`;
  return `${t(state)}${took} · ${ago(job.created_at)}`;
}
