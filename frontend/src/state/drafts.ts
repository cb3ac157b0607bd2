import type { OpenDocument } from "./documents";

/** Drafts of open documents in the browser's own database: nothing typed is lost to a reload or a crash. */
const DATABASE = "rushes";
const STORE = "drafts";

export interface Draft extends OpenDocument {
  at: number;
  order: number;
}

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "uid" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's database did not open"));
  });
}

let opening: Promise<IDBDatabase> | null = null;

async function transact<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  opening ??= open();
  const database = await opening;
  return new Promise((resolve, reject) => {
    const request = work(database.transaction(STORE, mode).objectStore(STORE));
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's database refused"));
  });
}

export const drafts = {
  put: (draft: Draft) => transact("readwrite", (store) => store.put(draft)),
  get: (uid: string) => transact<Draft | undefined>("readonly", (store) => store.get(uid)),
  all: () => transact<Draft[]>("readonly", (store) => store.getAll()),
  remove: (uid: string) => transact("readwrite", (store) => store.delete(uid)),
};
