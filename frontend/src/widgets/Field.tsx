import type { KeyboardEvent } from "react";
import { setParam, setRandom } from "../document/commands";
import { type Param, valueOf } from "../document/catalog";
import { edgesOf, viewOf } from "../document/schema";
import { t } from "../i18n";
import { runCommand, useDocuments } from "../state/documents";
import { sendPrompt, useSteerable } from "../state/live";
import { shownRun, useRuns } from "../state/runs";
import { ChoiceParam, type FieldProps, NumberParam, TextAreaParam, TextParam, ToggleParam } from "./fields";
import { SeedParam } from "./SeedParam";

interface Props {
  uid: string;
  nodeId: string;
  param: Param;
  /** Tells fields of one param on several surfaces apart. */
  surface: string;
}

/** The control for one param, by the widget its declaration names. */
export function Field({ uid, nodeId, param, surface }: Props) {
  const value = useDocuments((state) => {
    const node = state.documents[uid]?.doc.graph.nodes[nodeId];
    return node ? valueOf(node, param) : null;
  });
  const field: FieldProps = {
    id: `${surface}-${nodeId}-${param.name}`,
    param,
    value,
    onChange: (next) => runCommand(uid, setParam(nodeId, param.name, next)),
  };
  switch (param.widget) {
    case "seed":
      return <Seed uid={uid} nodeId={nodeId} field={field} />;
    case "number":
    case "slider":
      return <NumberParam {...field} />;
    case "choice":
      return <ChoiceParam {...field} />;
    case "toggle":
      return <ToggleParam {...field} />;
    case "textarea":
      return param.live ? <LiveText uid={uid} nodeId={nodeId} field={field} /> : <TextAreaParam {...field} />;
    case "script":
      return <TextAreaParam {...field} />;
    case "text":
      return <TextParam {...field} />;
  }
}

/** Text a running rollout takes without a restart: Ctrl Enter applies it at the next chunk. */
function LiveText({ uid, nodeId, field }: { uid: string; nodeId: string; field: FieldProps }) {
  const target = useSteerable(uid);
  const isFeeding = useDocuments((state) => {
    const doc = state.documents[uid]?.doc;
    const edges = doc ? Object.values(edgesOf(doc)) : [];
    return edges.some(({ from, to }) => from[0] === nodeId && to[0] === target?.nodeId);
  });
  const onKeyDown = (event: KeyboardEvent) => {
    if (!target || !isFeeding || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    sendPrompt(target.jobId, target.nodeId, String(field.value));
  };
  return (
    <div className="livetext" onKeyDown={onKeyDown}>
      <TextAreaParam {...field} />
      {target && isFeeding && <span className="livetext__hint">{t("Ctrl Enter: from the next chunk on")}</span>}
    </div>
  );
}

function Seed({ uid, nodeId, field }: { uid: string; nodeId: string; field: FieldProps }) {
  const name = field.param.name;
  const isRandom = useDocuments((state) => {
    const doc = state.documents[uid]?.doc;
    return doc ? (viewOf(doc, nodeId).random?.includes(name) ?? false) : false;
  });
  const drawn = useRuns((state) => shownRun(state, uid, nodeId)?.seeds[nodeId]?.[name] ?? null);
  return (
    <SeedParam
      {...field}
      isRandom={isRandom}
      drawn={drawn}
      onRandom={(next, value) => runCommand(uid, setRandom(nodeId, name, next, value))}
    />
  );
}

export const isTall = (param: Param | null): boolean => param?.widget === "textarea" || param?.widget === "script";
