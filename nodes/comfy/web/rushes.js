// ComfyUI's page keeps a live preview on a node even after the node has handed over its finished picture or clip.
// Ours show the finished one.
import { app } from "../../scripts/app.js";

const PREVIEW_WIDGET = "$$canvas-image-preview";

function forgetPreviews(node) {
  for (const key of Object.keys(app.nodePreviewImages)) {
    // Within a subgraph the key is "<subgraph id>:<node id>".
    if (key === String(node.id) || key.endsWith(`:${node.id}`)) delete app.nodePreviewImages[key];
  }
}

app.registerExtension({
  name: "rushes.finished",
  nodeCreated(node) {
    if (!node.comfyClass?.startsWith("Rushes")) return;
    const before = node.onExecuted;
    node.onExecuted = function (output) {
      forgetPreviews(node);
      node.preview = undefined;
      node.images = undefined;
      node.imgs = undefined;
      const at = node.widgets?.findIndex((widget) => widget.name === PREVIEW_WIDGET) ?? -1;
      if (at >= 0) node.widgets.splice(at, 1);
      before?.call(this, output);
      node.setDirtyCanvas(true, true);
    };
  },
});
