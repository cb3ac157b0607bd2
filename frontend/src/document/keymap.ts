/** Keyboard code (`KeyW`, `ArrowUp`) -> control key of the model. Physical keys, so that it works on any layout. */
export type KeyMap = Readonly<Record<string, string>>;

const codeOf = (key: string): string => {
  if (/^[a-z]$/i.test(key)) return `Key${key.toUpperCase()}`;
  if (/^\d$/.test(key)) return `Digit${key}`;
  return key;
};

/** Reads the `keymap` param: keys apart by spaces, `w a s d` or `ArrowUp=w ArrowLeft=a`. */
export function keyMapOf(text: string): KeyMap {
  const pairs = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((word) => {
      const [key = "", control = key] = word.split("=");
      return [codeOf(key), control] as const;
    });
  return Object.fromEntries(pairs);
}

export const IDENTITY: KeyMap = keyMapOf("w a s d");

/** The key cap that stands for a control key, for people: `ArrowUp` reads as an arrow. */
export function capOf(keyMap: KeyMap, control: string): string {
  const code = Object.keys(keyMap).find((candidate) => keyMap[candidate] === control);
  if (!code) return control.toUpperCase();
  const arrows: Record<string, string> = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→" };
  return arrows[code] ?? code.replace(/^(Key|Digit)/, "");
}
