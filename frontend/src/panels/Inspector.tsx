import { labelOf, paramValueText, titleOf } from "../document/catalog";
import { renameNode, setParam } from "../document/commands";
import { t } from "../i18n";
import { runCommand, useDocuments } from "../state/documents";
import { useNodeFindings } from "../state/nodeStatus";
import { useNodeType } from "../state/server";
import { useDocumentView } from "../state/view";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { Field, isTall } from "../widgets/Field";
import type { NodeType } from "../wire/api";

/** The selected node at leisure: all params with their meaning. */
export function Inspector({ uid }: { uid: string }) {
  const chosen = useDocumentView(uid, (view) => view.nodes);
  const nodeId = chosen.length === 1 ? chosen[0] : undefined;
  return (
    <section className="inspector" aria-label={t("Inspector")} data-testid="inspector">
      {nodeId === undefined ? (
        <p className="panel__empty">
          {chosen.length > 1 ? t("{n} nodes selected", { n: chosen.length }) : t("Select a node to see its params.")}
        </p>
      ) : (
        <Inspected key={nodeId} uid={uid} nodeId={nodeId} />
      )}
    </section>
  );
}

function Inspected({ uid, nodeId }: { uid: string; nodeId: string }) {
  const node = useDocuments((state) => state.documents[uid]?.doc.graph.nodes[nodeId]);
  const type = useNodeType(node?.type ?? "");
  const findings = useNodeFindings(uid, nodeId);
  if (!node) return null;
  return (
    <>
      <header className="inspector__head">
        <input
          className="inspector__title"
          aria-label={t("Node title")}
          value={node.title ?? ""}
          placeholder={titleOf({ ...node, title: null }, type)}
          onChange={(event) =>
            runCommand(uid, { ...renameNode(nodeId, event.target.value), mergeKey: `title:${nodeId}` })
          }
        />
        <span className="inspector__type">{node.type}</span>
      </header>
      {type && <p className="inspector__doc">{type.doc.split("\n\n")[0]}</p>}
      {findings.map((finding) => (
        <p key={finding.code + finding.message} className={`finding finding--${finding.severity}`}>
          <Icon name="warn" />
          {finding.message}
        </p>
      ))}
      <div className="inspector__params" data-param-fields>
        {type ? <Params uid={uid} nodeId={nodeId} type={type} /> : <RawParams params={node.params ?? {}} />}
      </div>
    </>
  );
}

function Params({ uid, nodeId, type }: { uid: string; nodeId: string; type: NodeType }) {
  const params = useDocuments((state) => state.documents[uid]?.doc.graph.nodes[nodeId]?.params);
  return type.params.map((param) => {
    const isChanged = params?.[param.name] !== undefined && params[param.name] !== param.default;
    return (
      <div key={param.name} className={`field ${isTall(param) ? "field--tall" : ""}`}>
        <label className="field__name" htmlFor={`inspector-${nodeId}-${param.name}`}>
          {labelOf(param)}
          {isChanged && (
            <Button
              isSmall
              icon="undo"
              label={t("Reset {name} to {value}", { name: param.name, value: paramValueText(param.default as never) })}
              onClick={() => runCommand(uid, setParam(nodeId, param.name, param.default as never))}
            />
          )}
        </label>
        <div className="field__control">
          <Field uid={uid} nodeId={nodeId} param={param} surface="inspector" />
        </div>
        <p className="field__doc">{param.doc}</p>
      </div>
    );
  });
}

const RawParams = ({ params }: { params: Record<string, unknown> }) =>
  Object.entries(params).map(([name, value]) => (
    <div key={name} className="field">
      <span className="field__name">{name}</span>
      <code className="field__control">{JSON.stringify(value)}</code>
    </div>
  ));
