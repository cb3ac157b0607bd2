import { t } from "../i18n";
import { newDocument, openFile, openFromServer, saveFile, saveToServer } from "../state/files";
import { useServer } from "../state/server";
import { Button } from "../ui/Button";
import { ago } from "./ago";

/** Workflows kept on the server, and the ways in and out. */
export function WorkflowsPanel({ uid }: { uid: string }) {
  const workflows = useServer((state) => state.workflows);
  return (
    <>
      <div className="panel__actions">
        <Button variant="lined" icon="plus" onClick={() => newDocument(t("Untitled"))}>
          {t("New")}
        </Button>
        <Button variant="lined" icon="folder" onClick={() => void openFile()}>
          {t("Open file…")}
        </Button>
        <Button variant="lined" icon="save" onClick={() => void saveToServer(uid)}>
          {t("Save")}
        </Button>
        <Button variant="lined" icon="download" onClick={() => saveFile(uid)}>
          {t("Save file")}
        </Button>
      </div>
      <h3 className="label panel__label">{t("On the server")}</h3>
      {workflows.length === 0 && (
        <p className="panel__empty">
          {t("Saved workflows appear here.")} <kbd>Ctrl</kbd> <kbd>S</kbd>
        </p>
      )}
      {workflows.map((workflow) => (
        <button
          key={workflow.workflow_id}
          type="button"
          className="row"
          data-workflow={workflow.workflow_id}
          onClick={() => void openFromServer(workflow.workflow_id)}
        >
          <span className="row__title">{workflow.title}</span>
          <span className="row__note">
            v{workflow.version} · {ago(workflow.updated_at)}
          </span>
        </button>
      ))}
    </>
  );
}
