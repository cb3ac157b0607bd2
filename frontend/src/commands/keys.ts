/** One way to write and match shortcuts, for the whole page. */
export interface KeyPress {
  key: string;
  code: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

export const isApple = (): boolean => /Mac|iPhone|iPad/.test(navigator.platform);

/** Whether a press is the shortcut, written as `Mod+Shift+Z`. `Mod` is Ctrl, or ⌘ on Apple keyboards.
 *
 * Letters match by what they type where that is Latin, else by where they are, so that shortcuts also work on
 * Cyrillic and other layouts.
 */
export function matches(shortcut: string, press: KeyPress, onApple: boolean): boolean {
  const parts = shortcut.split("+");
  const wanted = parts.at(-1) === "" ? "+" : (parts.at(-1) ?? "");
  const has = (name: string) => parts.slice(0, -1).includes(name);
  const isMod = onApple ? press.metaKey : press.ctrlKey;
  const isOther = onApple ? press.ctrlKey : press.metaKey;
  if (has("Mod") !== isMod || has("Ctrl") !== (onApple && isOther) || has("Alt") !== press.altKey) return false;
  if (!onApple && isOther) return false;
  const typed = keyName(press);
  const isSymbol = wanted.length === 1 && !/[a-z0-9]/i.test(wanted);
  if (!isSymbol && has("Shift") !== press.shiftKey) return false;
  return typed.toLowerCase() === wanted.toLowerCase();
}

function keyName({ key, code, altKey, shiftKey }: KeyPress): string {
  const isLatin = key.length > 1 || /^[\x20-\x7e]$/.test(key);
  const isDigitRow = code.startsWith("Digit") && shiftKey;
  if (isLatin && !altKey && !isDigitRow) return key;
  const place = /^(?:Key|Digit)(.)$/.exec(code)?.[1];
  return place ?? key;
}

/** How a shortcut reads in a menu: `Ctrl Shift Z`. */
export function readable(shortcut: string, onApple: boolean): string {
  const names: Record<string, string> = onApple
    ? { Mod: "⌘", Shift: "⇧", Alt: "⌥", Ctrl: "⌃" }
    : { Mod: "Ctrl" };
  const arrows: Record<string, string> = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc" };
  const parts = shortcut === "+" ? ["+"] : shortcut.split("+");
  return parts.map((part) => names[part] ?? arrows[part] ?? part).join(" ");
}
