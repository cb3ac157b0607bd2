import { describe, expect, it } from "vitest";
import { matches, readable } from "../src/commands/keys";
import { findNodeTypes } from "../src/commands/search";
import { onGrid, readNumber } from "../src/widgets/expression";
import { CATALOG } from "./fixtures";

describe("typed numbers", () => {
  it.each([
    ["16*8+1", 129],
    ["(3+1)/2", 2],
    ["-2.5", -2.5],
    ["0,5", 0.5],
    ["1e3", 1000],
    [" 7 ", 7],
  ])("%s is %d", (text, value) => expect(readNumber(text)).toBe(value));

  it.each(["", "abc", "1+", "2 3", "(1", "1/0"])("%s is none", (text) => expect(readNumber(text)).toBeNull());
});

describe("scrubbing", () => {
  it("stays on the grid that starts at the minimum, inside the range", () => {
    const frames = { minimum: 1, maximum: 93, step: 4 };
    expect(onGrid(46.2, frames)).toBe(45);
    expect(onGrid(-20, frames)).toBe(1);
    expect(onGrid(500, frames)).toBe(93);
    expect(onGrid(0.30000004, { minimum: 0, maximum: 1, step: 0.05 })).toBe(0.3);
  });
});

describe("shortcuts", () => {
  const press = (key: string, code: string, more: Partial<Record<"ctrlKey" | "metaKey" | "altKey" | "shiftKey", boolean>> = {}) => ({
    key,
    code,
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    shiftKey: false,
    ...more,
  });

  it("match letters by what they type, and by place on other alphabets", () => {
    expect(matches("Mod+Z", press("z", "KeyZ", { ctrlKey: true }), false)).toBe(true);
    expect(matches("Mod+Z", press("z", "KeyY", { ctrlKey: true }), false)).toBe(true);
    expect(matches("Mod+Z", press("я", "KeyZ", { ctrlKey: true }), false)).toBe(true);
    expect(matches("Mod+Z", press("z", "KeyZ", { metaKey: true }), true)).toBe(true);
  });

  it("want exactly their modifiers", () => {
    expect(matches("Mod+Z", press("Z", "KeyZ", { ctrlKey: true, shiftKey: true }), false)).toBe(false);
    expect(matches("L", press("l", "KeyL", { ctrlKey: true }), false)).toBe(false);
    expect(matches("?", press("?", "Slash", { shiftKey: true }), false)).toBe(true);
    expect(matches("Alt+C", press("ç", "KeyC", { altKey: true }), false)).toBe(true);
    expect(matches("Shift+1", press("!", "Digit1", { shiftKey: true }), false)).toBe(true);
    expect(matches("+", press("+", "Equal", { shiftKey: true }), false)).toBe(true);
  });

  it("read as people write them", () => {
    expect(readable("Mod+Shift+Z", false)).toBe("Ctrl Shift Z");
    expect(readable("Mod+Shift+Z", true)).toBe("⌘ ⇧ Z");
  });
});

describe("the palette", () => {
  const names = (query: string, more: Partial<Parameters<typeof findNodeTypes>[2]> = {}, recent: string[] = []) =>
    findNodeTypes(CATALOG, query, { end: null, edgeType: null, ...more }, recent).map(({ type_id }) => type_id);

  it("finds by letters in order, best first", () => {
    expect(names("sav")[0]).toBe("save");
    expect(names("mk")).toEqual(["make"]);
    expect(names("zzz")).toEqual([]);
  });

  it("offers only what fits a loose end or an edge", () => {
    const end = { node: "m", socket: "video", side: "output" as const, types: ["VIDEO"] };
    expect(names("", { end }).sort()).toEqual(["make", "save", "tint"]);
    expect(names("", { edgeType: "VIDEO" }).sort()).toEqual(["make", "tint"]);
  });

  it("puts recent ones first", () => {
    expect(names("", {}, ["tint", "keys"]).slice(0, 2)).toEqual(["tint", "keys"]);
  });
});
