import { create } from "zustand";

export interface Notice {
  text: string;
  kind: "info" | "error";
  at: number;
}

/** Words for the live region, and for a strip above the status bar when something went wrong elsewhere. */
export const useNotices = create<{ spoken: string; notice: Notice | null }>(() => ({ spoken: "", notice: null }));

export const speak = (spoken: string): void => useNotices.setState({ spoken });

export function notify(text: string, kind: Notice["kind"] = "info"): void {
  useNotices.setState({ spoken: text, notice: { text, kind, at: Date.now() } });
}

export const dismissNotice = (): void => useNotices.setState({ notice: null });
