import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";

/** What each folder of src may import, besides itself. Arrows point down only. */
const BELOW: Record<string, readonly string[]> = {
  wire: [],
  i18n: [],
  document: ["wire"],
  transport: ["wire", "document"],
  state: ["wire", "document", "transport", "i18n"],
  ui: ["i18n"],
  widgets: ["wire", "document", "state", "i18n", "ui"],
  viewer: ["wire", "document", "transport", "state", "i18n", "ui", "widgets"],
  canvas: ["wire", "document", "transport", "state", "i18n", "ui", "widgets", "viewer"],
  commands: ["wire", "document", "state", "i18n", "ui", "canvas"],
  panels: ["wire", "document", "state", "i18n", "ui", "widgets", "viewer", "canvas", "commands"],
  app: ["wire", "document", "transport", "state", "i18n", "ui", "widgets", "viewer", "canvas", "commands", "panels"],
};

const LIBRARIES: Record<string, readonly string[]> = {
  "@xyflow/react": ["canvas"],
  react: ["canvas", "widgets", "viewer", "commands", "panels", "ui", "app"],
  zustand: ["state", "i18n", "ui", "canvas"],
  immer: ["document"],
};

const root = join(import.meta.dirname, "../src");
const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
const imports = files.flatMap((file) => {
  const text = readFileSync(join(root, file), "utf8");
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => ({ file, to: match[1] as string }));
});
const folderOf = (path: string): string => path.split(/[\\/]/)[0] ?? "";

describe("layers", () => {
  it("every folder has its place", () => {
    const folders = new Set(files.filter((file) => /[\\/]/.test(file)).map(folderOf));
    expect([...folders].sort()).toEqual(Object.keys(BELOW).sort());
  });

  it("imports point down only", () => {
    const wrong = imports.filter(({ file, to }) => {
      if (!to.startsWith(".") || !/[\\/]/.test(file)) return false;
      const from = folderOf(file);
      const target = folderOf(relative(root, join(root, file, "..", to)));
      return target !== from && !BELOW[from]?.includes(target);
    });
    expect(wrong).toEqual([]);
  });

  it("libraries stay in their folders", () => {
    const wrong = imports.filter(({ file, to }) => {
      const library = Object.keys(LIBRARIES).find((name) => to === name || to.startsWith(`${name}/`));
      return library !== undefined && /[\\/]/.test(file) && !LIBRARIES[library]?.includes(folderOf(file));
    });
    expect(wrong).toEqual([]);
  });
});
