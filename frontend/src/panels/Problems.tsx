import { titleOf } from "../document/catalog";
import { outermost } from "../document/ways";
import { t } from "../i18n";
import { useFindings } from "../state/checks";
import { useDocuments } from "../state/documents";
import { useServer } from "../state/server";
import { stage } from "../state/stage";
import { latestRun, useRuns } from "../state/runs";
import { select } from "../state/view";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";

interface Problem {
  key: string;
  severity: "error" | "warning" | "note";
  message: string;
  nodeId: string | null;
}

/** What the compiler and the last run found, each with a way to its node. */
export function useProblems(uid: string): Problem[] {
  const findings = useFindings(uid);
  const run = useRuns((state) => latestRun(state, uid));
  const found: Problem[] = findings.map((finding, index) => ({
    key: `${finding.code}-${index}`,
    severity: finding.severity,
    message: finding.message,
    nodeId: finding.node_id === null ? null : outermost(finding.node_id),
  }));
  if (run?.state === "failed" && run.error) {
    found.unshift({ key: run.jobId, severity: "error", message: run.error.message, nodeId: run.error.node_id });
  }
  return found;
}

export function Problems({ uid, onClose }: { uid: string; onClose: () => void }) {
  const problems = useProblems(uid);
  const doc = useDocuments((state) => state.documents[uid]?.doc);
  const catalog = useServer((state) => state.catalog);
  const nameOf = (nodeId: string | null) => {
    const node = nodeId === null ? undefined : doc?.graph.nodes[nodeId];
    return node ? titleOf(node, catalog[node.type]) : t("Workflow");
  };
  const go = (nodeId: string | null) => {
    if (nodeId === null) return;
    select(uid, [nodeId]);
    stage()?.reveal([nodeId]);
  };
  return (
    <section className="problems" aria-label={t("Problems")} data-testid="problems">
      <header className="problems__head">
        <h2 className="panel__title">{t("Problems")}</h2>
        <Button isSmall icon="close" label={t("Close problems")} onClick={onClose} />
      </header>
      {problems.length === 0 && <p className="panel__empty">{t("No problems. The workflow compiles.")}</p>}
      <ul>
        {problems.map((problem) => (
          <li key={problem.key}>
            <button type="button" className={`problem finding--${problem.severity}`} onClick={() => go(problem.nodeId)}>
              <Icon name="warn" />
              <span className="problem__node">{nameOf(problem.nodeId)}</span>
              <span className="problem__text">{problem.message}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
