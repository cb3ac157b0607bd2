const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz";

/** A random id such as `n_k3f9x2`. `getRandomValues` exists on plain-HTTP addresses too; `randomUUID` does not. */
export function newId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return `${prefix}_${Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join("")}`;
}

export function freshId(prefix: string, taken: Record<string, unknown>): string {
  let id = newId(prefix);
  while (id in taken) id = newId(prefix);
  return id;
}
