import type { DragEvent } from "react";
import { addNode, type Point, setParam } from "../document/commands";
import { freshId } from "../document/ids";
import { documentOf, runCommand } from "../state/documents";
import { insertNode } from "../state/editing";
import { uploadAsset } from "../state/assets";
import { catalogNow } from "../state/server";
import { select } from "../state/view";

/** Mime type under which a node type is dragged from the nodes panel. */
export const NODE_TYPE_MIME = "application/x-rushes-node-type";

export interface DropHandlers {
  uid: string;
  place: Point;
  /** Workflow files: opened in tabs of their own, never over the open one. */
  onFiles: (files: readonly File[]) => void;
}

export function dropOnCanvas(event: DragEvent, { uid, place, onFiles }: DropHandlers): void {
  event.preventDefault();
  const type = catalogNow()[event.dataTransfer.getData(NODE_TYPE_MIME)];
  if (type) return insertNode(uid, type, place, null, null);
  const files = [...event.dataTransfer.files];
  const media = files.filter((file) => /^(image|video)\//.test(file.type));
  const others = files.filter((file) => !media.includes(file));
  if (others.length) onFiles(others);
  for (const [index, file] of media.entries()) void addMedia(uid, file, { x: place.x, y: place.y + index * 48 });
}

/** A dropped picture or clip becomes a node that loads it. */
async function addMedia(uid: string, file: File, at: Point): Promise<void> {
  const asset = await uploadAsset(file);
  const wanted = asset?.kind === "image" ? "images" : "videos";
  const type = Object.values(catalogNow()).find(({ params }) => params.some(({ choices_from }) => choices_from === wanted));
  const param = type?.params.find(({ choices_from }) => choices_from === wanted);
  const doc = documentOf(uid)?.doc;
  if (!asset || !type || !param || !doc) return;
  const id = freshId("n", doc.graph.nodes);
  const add = addNode({ id, type, at });
  const choose = setParam(id, param.name, asset.asset);
  runCommand(uid, {
    ...add,
    change: (draft) => {
      add.change(draft);
      choose.change(draft);
    },
  });
  select(uid, [id]);
}
