import { titleOf } from "../document/catalog";
import { outermost } from "../document/ways";
import { t } from "../i18n";
import { useChecks } from "../state/checks";
import { isDirty, useDocuments } from "../state/documents";
import { useDrive } from "../state/live";
import { latestRun, useRuns } from "../state/runs";
import { useServer } from "../state/server";
import { duration, progressOf } from "../state/nodeStatus";
import { usePalette } from "../state/palette";
import { togglePanel } from "../state/prefs";
import { useProblems } from "../panels/Problems";

interface Props {
  uid: string;
  hasProblems: boolean;
  onProblems: () => void;
}

/** One line on where things stand: what the keys do, whether it compiles, the run, the machine. */
export function StatusBar({ uid, hasProblems, onProblems }: Props) {
  return (
    <footer className="status" aria-label={t("Status")}>
      <Context />
      <Validity uid={uid} hasProblems={hasProblems} onProblems={onProblems} />
      <RunState uid={uid} />
      <span className="status__space" />
      <Saved uid={uid} />
      <Queue />
      <Machine />
      <Connection />
    </footer>
  );
}

/** Who has the letter keys now. */
function Context() {
  const isDriving = useDrive((state) => state.drive !== null);
  const hasPalette = usePalette((state) => state.open !== null);
  const context = isDriving ? t("Driving: keys steer, Esc lets go") : hasPalette ? t("Palette") : t("Canvas");
  return (
    <span className="status__item" data-context={isDriving ? "live" : "canvas"}>
      {context}
    </span>
  );
}

function Validity({ uid, hasProblems, onProblems }: Props) {
  const problems = useProblems(uid);
  const isPending = useChecks((state) => state.pending[uid] ?? false);
  const isEmpty = useDocuments((state) => Object.keys(state.documents[uid]?.doc.graph.nodes ?? {}).length === 0);
  const isKnown = useChecks((state) => state.checks[uid] !== undefined);
  const estimate = useChecks((state) => state.checks[uid]?.estimate ?? null);
  const errors = problems.filter(({ severity }) => severity === "error").length;
  const warnings = problems.filter(({ severity }) => severity === "warning").length;
  const notes = problems.length - errors - warnings;
  const text = !isKnown
    ? t("not checked")
    : isEmpty
      ? t("empty")
    : errors
      ? t(errors === 1 ? "{n} error" : "{n} errors", { n: errors })
      : warnings
        ? t(warnings === 1 ? "{n} warning" : "{n} warnings", { n: warnings })
        : notes
          ? t(notes === 1 ? "valid, {n} note" : "valid, {n} notes", { n: notes })
          : t("valid");
  const level = isEmpty ? "unknown" : errors ? "error" : warnings ? "warning" : "ok";
  return (
    <button
      type="button"
      className="status__item status__button"
      data-level={isKnown ? level : "unknown"}
      data-pending={isPending || undefined}
      data-testid="validity"
      aria-expanded={hasProblems}
      onClick={onProblems}
    >
      {text}
      {!errors && estimate?.seconds ? <small>≈ {duration(estimate.seconds)}</small> : null}
    </button>
  );
}

function RunState({ uid }: { uid: string }) {
  const run = useRuns((state) => latestRun(state, uid));
  const doc = useDocuments((state) => state.documents[uid]?.doc);
  const catalog = useServer((state) => state.catalog);
  if (!run) return null;
  const [atWork, running] = Object.entries(run.nodes).find(([, node]) => node.state === "running") ?? [];
  const node = atWork === undefined ? undefined : doc?.graph.nodes[outermost(atWork)];
  const title = node ? titleOf(node, catalog[node.type]) : "";
  const text = {
    queued: run.position ? t("queued, {n} before it", { n: run.position }) : t("queued"),
    running: running ? `${title} ${progressOf(running).text}` : t("running"),
    completed: run.startedAt && run.finishedAt ? t("done in {time}", { time: duration((run.finishedAt - run.startedAt) / 1000) }) : t("done"),
    failed: t("failed"),
    cancelled: t("stopped"),
  }[run.state];
  return (
    <span className="status__item" data-run-state={run.state} data-job={run.jobId} data-testid="run-state">
      {text}
    </span>
  );
}

function Saved({ uid }: { uid: string }) {
  const open = useDocuments((state) => state.documents[uid]);
  if (!open) return null;
  const version = open.server ? t("v{n}", { n: open.server.version }) : t("not on the server");
  return (
    <span className="status__item" title={t("Every change is kept in this browser. Ctrl S saves to the server.")}>
      {isDirty(open) ? t("draft kept") : version}
    </span>
  );
}

function Queue() {
  const queue = useServer((state) => state.system?.queue);
  if (!queue) return null;
  return (
    <button type="button" className="status__item status__button" onClick={() => togglePanel("queue")}>
      {t("queue {n}", { n: queue.queued + queue.running })}
    </button>
  );
}

function Machine() {
  const worker = useServer((state) => state.system?.worker);
  if (!worker) return null;
  const name = worker.state === "ready" ? (worker.device_name ?? worker.device ?? "") : t("worker {state}", { state: t(worker.state) });
  return (
    <span className="status__item" data-worker={worker.state} title={worker.torch ? `torch ${worker.torch}` : undefined}>
      {name}
    </span>
  );
}

function Connection() {
  const link = useServer((state) => state.link);
  const words = { open: t("connected"), connecting: t("connecting…"), closed: t("no connection; edits are kept") };
  return (
    <span className="status__item status__link" data-link={link} role="status">
      {words[link]}
    </span>
  );
}
