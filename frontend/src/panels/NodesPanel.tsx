import { useState } from "react";
import { NODE_TYPE_MIME } from "../canvas/drop";
import { findNodeTypes } from "../commands/search";
import { t } from "../i18n";
import { insertNode } from "../state/editing";
import { useServer } from "../state/server";
import { stage } from "../state/stage";
import { SocketShape } from "../ui/SocketShape";
import type { NodeType } from "../wire/api";

const ANYTHING = { end: null, edgeType: null };

/** All node types by category. Click adds one at the centre; dragging puts it where it is dropped. */
export function NodesPanel({ uid }: { uid: string }) {
  const [query, setQuery] = useState("");
  const catalog = useServer((state) => state.catalog);
  const found = findNodeTypes(catalog, query, ANYTHING, []);
  const categories = [...new Set(found.map((type) => type.category))];
  return (
    <>
      <input
        className="search"
        type="search"
        aria-label={t("Search nodes")}
        placeholder={t("Search nodes")}
        value={query}
        onChange={(event) => setQuery(event.target.value)}
      />
      {categories.map((category) => (
        <section key={category} aria-label={category}>
          <h3 className="label panel__label">{category}</h3>
          {found
            .filter((type) => type.category === category)
            .map((type) => (
              <NodeTypeRow key={type.type_id} uid={uid} type={type} />
            ))}
        </section>
      ))}
    </>
  );
}

function NodeTypeRow({ uid, type }: { uid: string; type: NodeType }) {
  const add = () => {
    const place = stage()?.place();
    if (place) insertNode(uid, type, place, null, null);
  };
  const main = type.outputs[0]?.type ?? type.inputs[0]?.types[0] ?? "ANY";
  return (
    <button
      type="button"
      className="row"
      title={type.doc.split("\n")[0]}
      draggable
      onDragStart={(event) => event.dataTransfer.setData(NODE_TYPE_MIME, type.type_id)}
      onClick={add}
    >
      <SocketShape type={main} isHollow={type.outputs.length === 0} />
      <span className="row__title">{type.title}</span>
    </button>
  );
}
