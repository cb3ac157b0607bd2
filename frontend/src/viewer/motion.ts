/** Whether the person asked for less motion: clips then wait to be played. */
export const isStill = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;
