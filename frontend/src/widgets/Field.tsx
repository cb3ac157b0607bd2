import { setParam, setRandom } from "../document/commands";
import { type Param, valueOf } from "../document/catalog";
import { viewOf } from "../document/schema";
import { runCommand, useDocuments } from "../state/documents";
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
    case "script":
      return <TextAreaParam {...field} />;
    case "text":
      return <TextParam {...field} />;
  }
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
