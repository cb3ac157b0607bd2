import "./palette.css";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { type Catalog, outputOf } from "../document/catalog";
import { edgesOf } from "../document/schema";
import { t } from "../i18n";
import { activeDocument, documentOf } from "../state/documents";
import { insertNode } from "../state/editing";
import { closePalette, type OpenPalette, usePalette } from "../state/palette";
import { usePrefs } from "../state/prefs";
import { useServer } from "../state/server";
import { stage } from "../state/stage";
import { Icon } from "../ui/Icon";
import { SocketShape } from "../ui/SocketShape";
import type { NodeType } from "../wire/api";
import { ACTIONS } from "./actions";
import { isApple, readable } from "./keys";
import { findNodeTypes, score } from "./search";

interface Row {
  id: string;
  title: string;
  detail: string;
  type: NodeType | null;
  keys: string;
  choose: () => void;
}

const WIDTH = 440;
const HEIGHT = 380;

export function Palette() {
  const open = usePalette((state) => state.open);
  return open && <OpenedPalette key={JSON.stringify(open)} open={open} />;
}

function OpenedPalette({ open }: { open: OpenPalette }) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const catalog = useServer((state) => state.catalog);
  const recent = usePrefs((prefs) => prefs.recentTypes);
  const rows = useMemo(() => rowsFor(open, query, catalog, recent), [open, query, catalog, recent]);
  const index = Math.min(at, Math.max(rows.length - 1, 0));
  const current = rows[index];

  const close = () => {
    closePalette();
    stage()?.focus();
  };
  const choose = (row: Row | undefined) => {
    if (!row) return;
    close();
    row.choose();
  };

  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [index, query]);

  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((index + step + rows.length) % Math.max(rows.length, 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(current);
    } else if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      close();
    }
    event.stopPropagation();
  };

  const label = open.mode === "nodes" ? t("Add node") : t("Actions");
  return (
    <div className="palette-veil" onPointerDown={(event) => event.target === event.currentTarget && close()}>
      <div className="palette" role="dialog" aria-label={label} style={placeOf(open)} data-testid="palette">
        <div className="palette__search">
          <Icon name="search" />
          <input
            autoFocus
            className="palette__input"
            role="combobox"
            aria-expanded="true"
            aria-controls="palette-list"
            aria-activedescendant={current ? `palette-${current.id}` : undefined}
            aria-label={label}
            placeholder={placeholderOf(open)}
            autoComplete="off"
            spellCheck={false}
            value={query}
            onChange={(event) => {
              setQuery(event.target.value);
              setAt(0);
            }}
            onKeyDown={onKeyDown}
          />
        </div>
        <ul ref={list} id="palette-list" className="palette__list" role="listbox" aria-label={label}>
          {rows.map((row, position) => (
            <li
              key={row.id}
              id={`palette-${row.id}`}
              role="option"
              aria-selected={position === index}
              className="palette__row"
              data-type-id={row.type?.type_id}
              onPointerMove={() => setAt(position)}
              onClick={() => choose(row)}
            >
              <span className="palette__title">{row.title}</span>
              {row.type ? <Sockets type={row.type} /> : <span className="palette__keys">{row.keys}</span>}
              {position === index && row.detail && <span className="palette__doc">{row.detail}</span>}
            </li>
          ))}
          {!rows.length && <li className="palette__none">{t("Nothing fits.")}</li>}
        </ul>
      </div>
    </div>
  );
}

const Sockets = ({ type }: { type: NodeType }) => (
  <span className="palette__sockets" aria-hidden="true">
    {type.inputs.map((socket) => (
      <SocketShape key={socket.name} type={socket.types[0] ?? "ANY"} isHollow={socket.optional} />
    ))}
    <i />
    {type.outputs.map((socket) => (
      <SocketShape key={socket.name} type={socket.type} />
    ))}
  </span>
);

function rowsFor(open: OpenPalette, query: string, catalog: Catalog, recent: readonly string[]): Row[] {
  if (open.mode === "actions") return actionRows(query);
  const doc = documentOf(open.uid)?.doc;
  const edge = doc && open.edgeId !== null ? edgesOf(doc)[open.edgeId] : undefined;
  const edgeType = edge ? (outputOf(catalog[doc?.graph.nodes[edge.from[0]]?.type ?? ""], edge.from[1])?.type ?? "") : null;
  return findNodeTypes(catalog, query, { end: open.end, edgeType }, recent).map((type) => ({
    id: type.type_id,
    title: type.title,
    detail: type.doc.split("\n")[0] ?? "",
    type,
    keys: "",
    choose: () => insertNode(open.uid, type, open.place, open.end, open.edgeId),
  }));
}

function actionRows(query: string): Row[] {
  const ranked = ACTIONS.map((action) => ({ action, rank: score(query, `${action.title} ${action.group}`) }));
  return ranked
    .filter(({ rank }) => rank > (query ? 4 : 0))
    .sort((left, right) => (query ? right.rank - left.rank : 0))
    .map(({ action }) => ({
      id: action.id.replaceAll(".", "-"),
      title: t(action.title),
      detail: "",
      type: null,
      keys: action.keys[0] ? readable(action.keys[0], isApple()) : "",
      choose: () => {
        const uid = activeDocument()?.uid;
        if (uid !== undefined) action.run(uid);
      },
    }));
}

function placeholderOf(open: OpenPalette): string {
  if (open.mode === "actions") return t("Search actions");
  if (!open.end) return t("Search nodes");
  const types = open.end.types.join(", ");
  return open.end.side === "output" ? t("Nodes that take {types}", { types }) : t("Nodes that give {types}", { types });
}

function placeOf(open: OpenPalette): { left: number; top: number } {
  const centre = { x: window.innerWidth / 2, y: window.innerHeight * 0.18 + 40 };
  const { x, y } = (open.mode === "nodes" && open.screen) || centre;
  const isFree = open.mode === "nodes" && open.screen !== null;
  const left = isFree ? x - 24 : x - WIDTH / 2;
  return {
    left: Math.max(8, Math.min(left, window.innerWidth - WIDTH - 8)),
    top: Math.max(8, Math.min(y - 20, window.innerHeight - HEIGHT - 8)),
  };
}
