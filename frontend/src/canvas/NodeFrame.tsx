import type { NodeProps } from "@xyflow/react";
import { memo, type MouseEvent, useEffect, useRef } from "react";
import { type NodeType, titleOf } from "../document/catalog";
import { renameNode, setParam } from "../document/commands";
import type { NodeLayout } from "../document/layoutNode";
import { layoutOf } from "../document/layouts";
import { edgesOf, modeOf, type NodeMode, type WorkflowNode } from "../document/schema";
import { t } from "../i18n";
import { runCommand, useDocuments } from "../state/documents";
import { duration, type NodeStatus, progressOf, useNodeStatus } from "../state/nodeStatus";
import { run as startRun } from "../state/running";
import { useNodeType, useServer } from "../state/server";
import { watch } from "../state/view";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { openMenuUnder } from "../ui/overlays";
import { KeyPad } from "../viewer/KeyPad";
import { LiveStrip } from "../viewer/LiveStrip";
import { PictureBox } from "../viewer/PictureBox";
import type { Diagnostic } from "../wire/api";
import type { FlowNode } from "./adapter";
import { nodeMenu } from "./menus";
import { ParamRow } from "./ParamRow";
import { Socket } from "./Socket";
import { rename, useCanvas, useUid } from "./state";

/** One node on the canvas. One component serves every node type: what it shows follows from the declaration. */
export const NodeFrame = memo(function NodeFrame({ id, selected }: NodeProps<FlowNode>) {
  const uid = useUid();
  const node = useDocuments((state) => state.documents[uid]?.doc.graph.nodes[id]);
  const type = useNodeType(node?.type ?? "");
  const hasCatalog = useServer((state) => state.hasCatalog);
  const layout = useLayout(uid, id);
  const isShell = useCanvas((state) => state.tier === "shell" && state.hovered !== id) && !selected;
  const status = useNodeStatus(uid, id);
  if (!node || !layout) return null;

  const title = titleOf(node, type);
  const isMissing = !type && hasCatalog && node.type !== SUBGRAPH;
  const error = errorOf(status);
  return (
    <article
      className="node"
      style={{ width: layout.w, height: layout.h }}
      data-node-id={id}
      data-node-type={node.type}
      data-state={stateOf(status, error)}
      data-mode={modeOf(node)}
      data-selected={selected || undefined}
      data-missing={isMissing || undefined}
      aria-label={nameOf(title, status, error)}
      onPointerEnter={() => useCanvas.setState({ hovered: id })}
      onPointerLeave={() => useCanvas.setState({ hovered: null })}
    >
      <Header id={id} mode={modeOf(node)} title={title} status={status} isShell={isShell} />
      {!isShell && <Body id={id} node={node} type={type} layout={layout} title={title} status={status} />}
      {!isShell && <Message id={id} status={status} error={error} isMissing={isMissing} typeId={node.type} />}
    </article>
  );
});

const SUBGRAPH = "subgraph";

function useLayout(uid: string, id: string): NodeLayout | null {
  const catalog = useServer((state) => state.catalog);
  return useDocuments((state) => {
    const doc = state.documents[uid]?.doc;
    return doc && id in doc.graph.nodes ? layoutOf(doc, catalog, id) : null;
  });
}

const errorOf = ({ findings, run }: NodeStatus): Diagnostic | { code: string; message: string } | null =>
  findings.find((finding) => finding.severity === "error") ?? run?.error ?? null;

function stateOf({ findings, run, isRunning }: NodeStatus, error: unknown): string {
  if (isRunning) return "running";
  if (error) return "error";
  if (findings.some((finding) => finding.severity === "warning")) return "warning";
  if (!run) return "idle";
  return run.isCached ? "cached" : run.state;
}

function nameOf(title: string, { run, isRunning }: NodeStatus, error: { message: string } | null): string {
  if (isRunning && run) return t("{title}, running {progress}", { title, progress: progressOf(run).text });
  return error ? t("{title}, error: {message}", { title, message: error.message }) : title;
}

interface HeaderProps {
  id: string;
  mode: NodeMode;
  title: string;
  status: NodeStatus;
  isShell: boolean;
}

function Header({ id, mode, title, status, isShell }: HeaderProps) {
  const uid = useUid();
  const isRenaming = useCanvas((state) => state.renaming === id);
  const openNodeMenu = (event: MouseEvent) => {
    event.stopPropagation();
    openMenuUnder(event.currentTarget, title, nodeMenu(uid, id));
  };
  return (
    <header className="node__head">
      {isRenaming ? (
        <TitleInput id={id} title={title} />
      ) : (
        <h3 className="node__title" onDoubleClick={() => rename(id)} title={title}>
          {title}
        </h3>
      )}
      {!isShell && (
        <>
          {mode === "active" ? <Slate status={status} /> : <span className="node__slate">{t(mode)}</span>}
          <span className="node__tools nodrag">
            <Button isSmall icon="play" label={t("Run to here")} onClick={() => void startRun(uid, [id])} />
            <Button isSmall icon="dots" label={t("Node menu")} aria-haspopup="menu" onClick={openNodeMenu} />
          </span>
        </>
      )}
      {status.isRunning && status.run && <Bar share={progressOf(status.run).share} />}
    </header>
  );
}

const SHORTEST_SHOWN_S = 0.01;

/** The right end of the header, as on a film slate: the take and how long it took. */
function Slate({ status: { run, isRunning, takes } }: { status: NodeStatus }) {
  if (!run) return null;
  if (isRunning) return <span className="node__slate node__slate--running">{progressOf(run).text}</span>;
  if (run.isCached) return <span className="node__slate">{t("cached")}</span>;
  if (run.seconds === null || run.seconds < SHORTEST_SHOWN_S) return null;
  return (
    <span className="node__slate">
      {takes > 1 && <span className="node__take">{t("take {n}", { n: takes })}</span>}
      {duration(run.seconds)}
    </span>
  );
}

function Bar({ share }: { share: number | null }) {
  const percent = share === null ? undefined : Math.round(share * 100);
  return (
    <div
      className={`node__bar ${share === null ? "node__bar--open" : ""}`}
      role="progressbar"
      aria-label={t("Progress")}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      <div className="node__bar-fill" style={{ transform: `scaleX(${share ?? 1})` }} />
    </div>
  );
}

function TitleInput({ id, title }: { id: string; title: string }) {
  const uid = useUid();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.select(), []);
  const commit = (text: string) => {
    if (text.trim() !== title) runCommand(uid, renameNode(id, text.trim()));
    rename(null);
  };
  return (
    <input
      ref={input}
      className="node__title-input nodrag"
      aria-label={t("Node title")}
      defaultValue={title}
      onBlur={(event) => commit(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") commit(event.currentTarget.value);
        if (event.key === "Escape") rename(null);
        event.stopPropagation();
      }}
    />
  );
}

interface BodyProps {
  id: string;
  node: WorkflowNode;
  type: NodeType | undefined;
  layout: NodeLayout;
  title: string;
  status: NodeStatus;
}

function Body({ id, node, type, layout, title, status }: BodyProps) {
  const uid = useUid();
  const fed = useDocuments((state) => fedInputs(state.documents[uid]?.doc, id));
  const connected = fed.split("\n");
  return (
    <>
      {layout.sockets.map((place) => (
        <Socket
          key={`${place.side}:${place.name}`}
          nodeId={id}
          place={place}
          types={type?.inputs.find((socket) => place.side === "input" && socket.name === place.name)?.types ?? [place.type]}
          isConnected={connected.includes(`${place.side}:${place.name}`)}
          width={layout.w}
        />
      ))}
      {layout.params.map((place) => (
        <ParamRow
          key={place.name}
          nodeId={id}
          place={place}
          rawValue={place.param ? undefined : node.params?.[place.name]}
          hasFinding={status.findings.some(({ param, severity }) => param === place.name && severity === "error")}
        />
      ))}
      {layout.keyPad && (
        <div className="node__keypad" style={{ top: layout.keyPad.y, height: layout.keyPad.h }}>
          <KeyPad uid={uid} keys={CONTROL_KEYS} />
        </div>
      )}
      {layout.picture && (
        <div
          className="node__picture"
          style={{ top: layout.picture.y, height: layout.picture.h }}
          onClick={() => watch(uid, id)}
        >
          <PictureBox uid={uid} nodeId={id} title={title} />
          <LiveStrip uid={uid} nodeId={id} />
        </div>
      )}
    </>
  );
}

const CONTROL_KEYS = ["w", "a", "s", "d"];

/** The node's sockets that edges touch, as one string: it changes only when they do. */
function fedInputs(doc: Parameters<typeof edgesOf>[0] | undefined, id: string): string {
  if (!doc) return "";
  const found: string[] = [];
  for (const edge of Object.values(edgesOf(doc))) {
    if (edge.to[0] === id) found.push(`input:${edge.to[1]}`);
    if (edge.from[0] === id) found.push(`output:${edge.from[1]}`);
  }
  return found.join("\n");
}

interface MessageProps {
  id: string;
  status: NodeStatus;
  error: Diagnostic | { code: string; message: string } | null;
  isMissing: boolean;
  typeId: string;
}

/** What is wrong with the node, hanging below it, so that its size stays what it was. */
function Message({ id, status, error, isMissing, typeId }: MessageProps) {
  const uid = useUid();
  const finding = error ?? status.findings.find(({ severity }) => severity === "warning");
  if (!finding && !isMissing) return null;
  const text = finding?.message ?? t("This server has no node type {type}. It is kept as it is.", { type: typeId });
  const kind = error ? "error" : "warning";
  const fix = finding && isDiagnostic(finding) && isPlain(finding.suggestion) && finding.param ? finding : null;
  return (
    <div className={`node__message node__message--${kind} nodrag`} role={error ? "alert" : "note"} data-testid="node-message">
      <Icon name="warn" />
      <p title={text}>{text}</p>
      {fix && (
        <Button isSmall variant="lined" onClick={() => runCommand(uid, setParam(id, fix.param ?? "", fix.suggestion as never))}>
          {t("Use {value}", { value: String(fix.suggestion) })}
        </Button>
      )}
    </div>
  );
}

const isDiagnostic = (finding: Diagnostic | { code: string; message: string }): finding is Diagnostic => "suggestion" in finding;

const isPlain = (value: unknown): boolean => ["string", "number", "boolean"].includes(typeof value);
