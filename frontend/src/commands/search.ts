import type { Catalog, NodeType } from "../document/catalog";
import { bestSocket, type LooseEnd, throughSockets } from "../document/connect";

/** Words people bring from other tools, by node type. */
const ALIASES: Readonly<Record<string, string>> = {
  load_model: "checkpoint loader unet",
  prompt: "clip text encode conditioning positive",
  sampler_settings: "ksampler steps cfg guidance scheduler",
  generate_video: "text to video t2v ksampler sample",
  edit_video: "inpaint video to video v2v vace",
  streaming_rollout: "world model realtime live autoregressive stream",
  live_actions: "keyboard wasd game controls",
  action_script: "keyframes camera path",
  latent_mask: "inpaint region rectangle",
  temporal_mask: "extend continuation keep frames time",
  lora: "adapter style",
  preview: "show view",
  save_video: "export mp4 output",
  save_image: "export png output",
};

/** How well a query fits a text: 0 is not at all. Every letter must appear in order; starts of words count most. */
export function score(query: string, text: string): number {
  const wanted = query.toLowerCase().replace(/\s+/g, "");
  const within = text.toLowerCase();
  if (!wanted) return 1;
  const whole = within.indexOf(query.toLowerCase().trim());
  if (whole >= 0) return 100 - Math.min(whole, 40) + (whole === 0 || /\W/.test(within[whole - 1] ?? " ") ? 60 : 0);
  let at = -1;
  let total = 0;
  for (const letter of wanted) {
    const next = within.indexOf(letter, at + 1);
    if (next < 0) return 0;
    const isStart = next === 0 || /[\W_]/.test(within[next - 1] ?? "");
    total += isStart ? 8 : next === at + 1 ? 5 : 1;
    at = next;
  }
  return Math.max((total / wanted.length) * 5 - within.length / 20, 0.1);
}

/** Node types for the palette: those that fit the loose end or the edge, best match first, recent ones first when
 * nothing is typed. */
export function findNodeTypes(
  catalog: Catalog,
  query: string,
  fit: { end: LooseEnd | null; edgeType: string | null },
  recent: readonly string[],
): NodeType[] {
  const fitting = Object.values(catalog).filter((type) => {
    if (fit.end) return bestSocket(fit.end, type, () => false) !== null;
    return fit.edgeType === null || throughSockets(type, fit.edgeType) !== null;
  });
  const ranked = fitting.map((type) => ({ type, rank: rankOf(type, query, recent) })).filter(({ rank }) => rank > 0);
  return ranked.sort((left, right) => right.rank - left.rank).map(({ type }) => type);
}

function rankOf(type: NodeType, query: string, recent: readonly string[]): number {
  const isRecent = recent.includes(type.type_id);
  if (!query.trim()) return 1 + (isRecent ? recent.length - recent.indexOf(type.type_id) : 0);
  const best = Math.max(
    score(query, type.title),
    score(query, type.type_id) * 0.95,
    score(query, ALIASES[type.type_id] ?? "") * 0.6,
    query.trim().length > 2 && type.doc.toLowerCase().includes(query.toLowerCase().trim()) ? 20 : 0,
  );
  return best > 4 ? best + (isRecent ? 3 : 0) : 0;
}
