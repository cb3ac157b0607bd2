import { create } from "zustand";

/** What floats above the page: one menu, one dialog. Their code is loaded when the first one opens. */
export type MenuItem =
  | { kind: "rule" }
  | { kind: "item"; label: string; keys?: string; isDanger?: boolean; isDisabled?: boolean; run: () => void };

export interface OpenMenu {
  x: number;
  y: number;
  label: string;
  items: readonly MenuItem[];
}

export type DialogName = "keys" | "about";

export const useOverlays = create<{ menu: OpenMenu | null; dialog: DialogName | null }>(() => ({
  menu: null,
  dialog: null,
}));

export const openMenu = (menu: OpenMenu): void => useOverlays.setState({ menu });
export const closeMenu = (): void => useOverlays.setState({ menu: null });
export const openDialog = (dialog: DialogName): void => useOverlays.setState({ dialog });
export const closeDialog = (): void => useOverlays.setState({ dialog: null });

export const openMenuUnder = (element: Element, label: string, items: readonly MenuItem[]): void => {
  const box = element.getBoundingClientRect();
  openMenu({ x: box.left, y: box.bottom + 4, label, items });
};
