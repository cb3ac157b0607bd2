/** Ids of nodes inside subgraphs are ways: `look/generate` is the node `generate` inside the instance `look`. */
export const isWithin = (way: string, nodeId: string): boolean => way === nodeId || way.startsWith(`${nodeId}/`);

/** The node on the canvas that stands for a way. */
export const outermost = (way: string): string => way.split("/", 1)[0] ?? way;
