/** Reads what a person types into a number field: a number or arithmetic such as `16*8+1`. Null when it is neither. */
export function readNumber(text: string): number | null {
  const tokens = text.replace(/,/g, ".").match(/\d+\.?\d*(?:e[+-]?\d+)?|\.\d+|[-+*/()]|\S/gi) ?? [];
  let at = 0;

  const sum = (): number => {
    let value = product();
    while (tokens[at] === "+" || tokens[at] === "-") value = tokens[at++] === "+" ? value + product() : value - product();
    return value;
  };
  const product = (): number => {
    let value = factor();
    while (tokens[at] === "*" || tokens[at] === "/") value = tokens[at++] === "*" ? value * factor() : value / factor();
    return value;
  };
  const factor = (): number => {
    const token = tokens[at++];
    if (token === "-") return -factor();
    if (token === "+") return factor();
    if (token === "(") {
      const value = sum();
      return tokens[at++] === ")" ? value : Number.NaN;
    }
    return token === undefined || !/^[\d.]/.test(token) ? Number.NaN : Number(token);
  };

  const value = sum();
  return at === tokens.length && Number.isFinite(value) ? value : null;
}

/** Digits after the point that a step needs: 0.05 needs two. */
export function decimalsOf(step: number): number {
  const text = String(step);
  if (text.includes("e-")) return Number(text.split("e-")[1]);
  return text.split(".")[1]?.length ?? 0;
}

export interface Range {
  minimum: number | null;
  maximum: number | null;
  step: number;
}

/** The nearest value on the grid that starts at the minimum, inside the range. For scrubbing, never for typed values. */
export function onGrid(value: number, { minimum, maximum, step }: Range): number {
  const base = minimum ?? 0;
  const snapped = base + Math.round((value - base) / step) * step;
  const inside = Math.min(Math.max(snapped, minimum ?? Number.NEGATIVE_INFINITY), maximum ?? Number.POSITIVE_INFINITY);
  return Number(inside.toFixed(decimalsOf(step) + decimalsOf(base)));
}
