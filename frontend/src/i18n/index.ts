import { create } from "zustand";

/** English is the key: a language is a table from English to its words, and what it lacks reads in English. */
export type Words = Readonly<Record<string, string>>;

const useLanguage = create<{ words: Words }>(() => ({ words: {} }));

export const setLanguage = (words: Words): void => useLanguage.setState({ words });

/** The words for a person. `{name}` in the text is replaced by `values.name`. */
export function t(english: string, values: Readonly<Record<string, string | number>> = {}): string {
  const text = useLanguage.getState().words[english] ?? english;
  return text.replace(/\{(\w+)\}/g, (hole, name: string) => (name in values ? String(values[name]) : hole));
}
