import "@xyflow/react/dist/base.css";
import "./canvas.css";
import {
  Background,
  BackgroundVariant,
  type EdgeTypes,
  type NodeChange,
  type EdgeChange,
  type NodeTypes,
  ReactFlow,
  ReactFlowProvider,
  SelectionMode,
  useReactFlow,
  useStoreApi,
} from "@xyflow/react";
import { type DragEvent, type MouseEvent, useEffect, useMemo, useRef, useState } from "react";
import type { Point } from "../document/commands";
import { moveNodes } from "../document/commands";
import { layoutOf } from "../document/layouts";
import { edgesOf, viewOf } from "../document/schema";
import { t } from "../i18n";
import { documentOf, runCommand, useDocuments } from "../state/documents";
import { deleteEdge } from "../state/editing";
import { openPalette } from "../state/palette";
import { usePrefs } from "../state/prefs";
import { catalogNow, useServer } from "../state/server";
import { setStage, type Stage } from "../state/stage";
import { keepCamera, select, useDocumentView, viewOfDocument } from "../state/view";
import { openMenu } from "../ui/overlays";
import { Adapter, type FlowEdge, type FlowNode } from "./adapter";
import { CanvasToolbar } from "./CanvasToolbar";
import { edgeMenu, nodeMenu, paneMenu } from "./menus";
import { LooseWire } from "./LooseWire";
import { Minimap } from "./Minimap";
import { NodeFrame } from "./NodeFrame";
import { CanvasDocument, setNodesInView, useUid } from "./state";
import { dropOnCanvas, type DropHandlers } from "./drop";
import { isTrackpad } from "./wheel";
import { useGesture } from "./gesture";
import { Wire } from "./Wire";

const nodeTypes: NodeTypes = { workflow: NodeFrame };
const edgeTypes: EdgeTypes = { wire: Wire };
const SNAP: [number, number] = [8, 8];
const PAN_WITH_MIDDLE = [1];
const PAN_WITH_LEFT = [0, 1];
const MIN_ZOOM = 0.1;
const MAX_ZOOM = 2.5;
const GLIDE_MS = 120;
const FIT_SIDES = 72;
const FIT_ENDS = 88;
const FIT_LIFT = 12;
const FAR_ZOOM = 0.6;
const FAR_TITLE_PX = 8.5;
const FAR_TITLE_MAX = 25;

interface Props {
  uid: string;
  onFiles: DropHandlers["onFiles"];
}

export function GraphCanvas({ uid, onFiles }: Props) {
  return (
    <CanvasDocument.Provider value={uid}>
      <ReactFlowProvider key={uid}>
        <Flow onFiles={onFiles} />
      </ReactFlowProvider>
    </CanvasDocument.Provider>
  );
}

/** Sizes and sockets are declared, so nothing is measured: the library would look for its own handles and find none. */
function useDeclaredSizes(): ReturnType<typeof useStoreApi> {
  const store = useStoreApi();
  useState(() => store.setState({ updateNodeInternals: () => undefined }));
  return store;
}

function Flow({ onFiles }: { onFiles: DropHandlers["onFiles"] }) {
  const uid = useUid();
  const flow = useReactFlow<FlowNode, FlowEdge>();
  const store = useDeclaredSizes();
  const doc = useDocuments((state) => state.documents[uid]?.doc);
  const catalog = useServer((state) => state.catalog);
  const selectedNodes = useDocumentView(uid, (view) => view.nodes);
  const selectedEdges = useDocumentView(uid, (view) => view.edges);
  const hasMinimap = usePrefs((prefs) => prefs.hasMinimap);
  const isDragPanning = usePrefs((prefs) => prefs.isDragPanning);
  const isConnecting = useGesture((state) => state.gesture !== null);
  const [dragged, setDragged] = useState<Readonly<Record<string, Point>>>({});
  const adapter = useRef(new Adapter()).current;
  const pane = useRef<HTMLDivElement>(null);
  const pointer = useRef<Point | null>(null);
  const camera = useMemo(() => viewOfDocument(uid).camera ?? undefined, [uid]);

  const shown = doc && { doc, catalog, nodes: selectedNodes, edges: selectedEdges, dragged };
  const nodes = useMemo(() => (shown ? adapter.nodes(shown) : []), [doc, catalog, selectedNodes, dragged]);
  const edges = useMemo(() => (shown ? adapter.edges(shown) : []), [doc, catalog, selectedEdges]);

  const countNodesInView = () => {
    const box = pane.current?.getBoundingClientRect();
    const open = documentOf(uid);
    if (!box || !open) return;
    const { x, y, zoom } = flow.getViewport();
    const view = { left: -x / zoom, top: -y / zoom, right: (box.width - x) / zoom, bottom: (box.height - y) / zoom };
    const count = Object.keys(open.doc.graph.nodes).filter((id) => {
      const at = viewOf(open.doc, id);
      const { w, h } = layoutOf(open.doc, catalogNow(), id);
      return at.x < view.right && at.x + w > view.left && at.y < view.bottom && at.y + h > view.top;
    }).length;
    setNodesInView(count);
    pane.current?.toggleAttribute("data-far", zoom < FAR_ZOOM);
    pane.current?.style.setProperty("--far-title", `${Math.min(FAR_TITLE_PX / zoom, FAR_TITLE_MAX)}px`);
  };

  useEffect(() => {
    const made = makeStage();
    setStage(made);
    if (!viewOfDocument(uid).camera) fit([], 0);
    return () => setStage(null);
  }, [uid]);

  useEffect(countNodesInView, [doc, catalog]);

  const boxOf = (ids: readonly string[]) => {
    const open = documentOf(uid);
    if (!open) return null;
    const boxes = ids
      .filter((id) => id in open.doc.graph.nodes)
      .map((id) => ({ ...viewOf(open.doc, id), ...layoutOf(open.doc, catalogNow(), id) }));
    if (!boxes.length) return null;
    const x = Math.min(...boxes.map((box) => box.x));
    const y = Math.min(...boxes.map((box) => box.y));
    const width = Math.max(...boxes.map((box) => box.x + box.w)) - x;
    const height = Math.max(...boxes.map((box) => box.y + box.h)) - y;
    return { x, y, width, height };
  };

  /** Shows the nodes, or all, inside the room that the toolbar and the minimap leave. */
  const fit = (ids: readonly string[], duration: number) => {
    const box = boxOf(ids.length ? ids : Object.keys(documentOf(uid)?.doc.graph.nodes ?? {}));
    const room = pane.current?.getBoundingClientRect();
    if (!box || !room) return;
    const largest = ids.length ? 1.2 : 1;
    const wanted = Math.min((room.width - FIT_SIDES) / box.width, (room.height - FIT_ENDS) / box.height, largest);
    const zoom = Math.max(wanted, MIN_ZOOM);
    const x = room.width / 2 - (box.x + box.width / 2) * zoom;
    const y = room.height / 2 - (box.y + box.height / 2) * zoom - FIT_LIFT;
    void flow.setViewport({ x, y, zoom }, { duration });
  };

  const makeStage = (): Stage => ({
    fit: (ids) => fit(ids ?? [], GLIDE_MS),
    reveal: (ids) => {
      const box = boxOf(ids);
      const room = pane.current?.getBoundingClientRect();
      if (!box || !room) return;
      const { x, y, zoom } = flow.getViewport();
      const left = box.x * zoom + x;
      const up = box.y * zoom + y;
      const isSeen = left >= 0 && up >= 0 && left + box.width * zoom <= room.width && up + box.height * zoom <= room.height;
      if (isSeen) return;
      void flow.setCenter(box.x + box.width / 2, box.y + box.height / 2, { zoom, duration: GLIDE_MS });
    },
    zoomBy: (factor) => void flow.zoomTo(flow.getZoom() * factor, { duration: GLIDE_MS }),
    zoomTo: (zoom) => void flow.zoomTo(zoom, { duration: GLIDE_MS }),
    place: (screen) => {
      const room = pane.current?.getBoundingClientRect();
      const centre = room && { x: room.x + room.width / 2, y: room.y + room.height / 2 };
      return flow.screenToFlowPosition(screen ?? pointer.current ?? centre ?? { x: 0, y: 0 }, { snapToGrid: false });
    },
    focus: () => pane.current?.focus({ preventScroll: true }),
  });

  const onNodesChange = (changes: NodeChange<FlowNode>[]) => {
    const places: Record<string, Point> = {};
    let isOver = false;
    let chosen: Set<string> | null = null;
    for (const change of changes) {
      if (change.type === "position" && change.position) {
        places[change.id] = change.position;
        isOver ||= change.dragging === false;
      } else if (change.type === "position") {
        isOver ||= change.dragging === false;
      } else if (change.type === "select") {
        chosen ??= new Set(viewOfDocument(uid).nodes);
        if (change.selected) chosen.add(change.id);
        else chosen.delete(change.id);
      }
    }
    if (chosen) select(uid, [...chosen], viewOfDocument(uid).edges);
    if (isOver) drop({ ...dragged, ...places });
    else if (Object.keys(places).length) setDragged((now) => ({ ...now, ...places }));
  };

  /** The document learns of a drag once, on release. */
  const drop = (places: Readonly<Record<string, Point>>) => {
    const open = documentOf(uid);
    const moved = Object.entries(places).filter(([id, place]) => {
      const at = open ? viewOf(open.doc, id) : place;
      return at.x !== place.x || at.y !== place.y;
    });
    if (moved.length) runCommand(uid, moveNodes(Object.fromEntries(moved)));
    setDragged({});
  };

  const onEdgesChange = (changes: EdgeChange<FlowEdge>[]) => {
    const chosen = new Set(viewOfDocument(uid).edges);
    for (const change of changes) {
      if (change.type !== "select") continue;
      if (change.selected) chosen.add(change.id);
      else chosen.delete(change.id);
    }
    select(uid, viewOfDocument(uid).nodes, [...chosen]);
  };

  const onDoubleClick = (event: MouseEvent) => {
    if (!(event.target as Element).classList.contains("react-flow__pane")) return;
    const screen = { x: event.clientX, y: event.clientY };
    openPalette({ uid, screen, place: flow.screenToFlowPosition(screen, { snapToGrid: false }) });
  };

  const menuAt = (event: MouseEvent | globalThis.MouseEvent, label: string, items: ReturnType<typeof nodeMenu>) => {
    event.preventDefault();
    openMenu({ x: event.clientX, y: event.clientY, label, items });
  };

  /** A trackpad's two fingers pan; a mouse wheel zooms at the pointer. */
  useEffect(() => {
    const element = pane.current;
    if (!element) return;
    const onWheel = (event: WheelEvent) => {
      const isInField = (event.target as Element).closest(".nowheel :focus, textarea:focus") !== null;
      if (isInField || event.ctrlKey || !isTrackpad(event)) return;
      event.preventDefault();
      event.stopPropagation();
      void store.getState().panBy({ x: -event.deltaX, y: -event.deltaY });
    };
    element.addEventListener("wheel", onWheel, { capture: true, passive: false });
    return () => element.removeEventListener("wheel", onWheel, { capture: true });
  }, [store]);

  const onDrop = (event: DragEvent) => {
    const screen = { x: event.clientX, y: event.clientY };
    dropOnCanvas(event, { uid, place: flow.screenToFlowPosition(screen, { snapToGrid: false }), onFiles });
  };

  if (!doc) return null;
  const nodeCount = Object.keys(doc.graph.nodes).length;
  return (
    <div
      ref={pane}
      className="canvas"
      role="application"
      aria-label={t("Workflow graph, {nodes} nodes, {edges} edges", { nodes: nodeCount, edges: Object.keys(edgesOf(doc)).length })}
      tabIndex={0}
      data-testid="canvas"
      data-connecting={isConnecting || undefined}
      onDoubleClick={onDoubleClick}
      onPointerMove={(event) => (pointer.current = { x: event.clientX, y: event.clientY })}
      onPointerLeave={() => (pointer.current = null)}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
    >
      <ReactFlow<FlowNode, FlowEdge>
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        {...(camera ? { defaultViewport: camera } : {})}
        minZoom={MIN_ZOOM}
        maxZoom={MAX_ZOOM}
        onlyRenderVisibleElements
        onNodesChange={onNodesChange}
        onEdgesChange={onEdgesChange}
        onMove={countNodesInView}
        onMoveEnd={(_, viewport) => keepCamera(uid, viewport)}
        onPaneClick={() => pane.current?.focus({ preventScroll: true })}
        onNodeContextMenu={(event, node) => menuAt(event, t("Node menu"), nodeMenu(uid, node.id))}
        onEdgeContextMenu={(event, edge) =>
          menuAt(event, t("Edge menu"), edgeMenu(uid, edge.id, { x: event.clientX, y: event.clientY }))
        }
        onPaneContextMenu={(event) => menuAt(event, t("Canvas menu"), paneMenu(uid, { x: event.clientX, y: event.clientY }))}
        onEdgeClick={(event, edge) => event.altKey && deleteEdge(uid, edge.id)}
        panOnDrag={isDragPanning ? PAN_WITH_LEFT : PAN_WITH_MIDDLE}
        selectionOnDrag={!isDragPanning}
        selectionMode={SelectionMode.Partial}
        selectionKeyCode={isDragPanning ? "Shift" : null}
        multiSelectionKeyCode={["Shift", "Meta", "Control"]}
        panActivationKeyCode="Space"
        deleteKeyCode={null}
        disableKeyboardA11y
        nodesFocusable={false}
        edgesFocusable={false}
        nodesConnectable={false}
        elevateNodesOnSelect={false}
        zoomOnDoubleClick={false}
        nodeDragThreshold={4}
        snapToGrid
        snapGrid={SNAP}
        attributionPosition="bottom-center"
      >
        <Background variant={BackgroundVariant.Dots} gap={24} size={1.5} color="var(--dot)" />
        <LooseWire />
      </ReactFlow>
      {nodeCount === 0 && <p className="canvas__empty">{t("Double-click to add a node")}</p>}
      <CanvasToolbar uid={uid} />
      {hasMinimap && nodeCount > 0 && <Minimap uid={uid} />}
    </div>
  );
}
