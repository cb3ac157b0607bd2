import { documentOf, openDocument, useDocuments } from "./documents";
import { type Draft, drafts } from "./drafts";
import { useRuns } from "./runs";

/** What this browser tab has open: which documents, and which jobs it follows for them. Survives a reload. */
interface Session {
  order: string[];
  active: string | null;
  jobs: Record<string, string[]>;
}

const KEY = "rushes.session";
const PAUSE_MS = 300;
const JOBS_KEPT = 3;

let isReady = false;

function storedSession(): Session | null {
  const text = sessionStorage.getItem(KEY);
  return text === null ? null : (JSON.parse(text) as Session);
}

function writeSession(): void {
  if (!isReady) return;
  const { order, active } = useDocuments.getState();
  const { byDocument } = useRuns.getState();
  const jobs = Object.fromEntries(order.map((uid) => [uid, (byDocument[uid] ?? []).slice(0, JOBS_KEPT)]));
  sessionStorage.setItem(KEY, JSON.stringify({ order: [...order], active, jobs } satisfies Session));
}

/** Opens what this tab had open before. Returns the jobs to follow again, by document; null when there was nothing. */
export async function restoreSession(): Promise<Session["jobs"] | null> {
  const session = storedSession();
  const found = session ? await draftsOf(session.order) : await adoptLost();
  isReady = true;
  for (const { at: _at, order: _order, ...open } of found) openDocument(open.doc, open);
  for (const { uid } of found) claim(uid);
  if (session?.active && documentOf(session.active)) useDocuments.setState({ active: session.active });
  return found.length ? (session?.jobs ?? {}) : null;
}

async function draftsOf(order: readonly string[]): Promise<Draft[]> {
  const found = await Promise.all(order.map(async (uid) => lastWords(uid) ?? (await drafts.get(uid))));
  return found.filter((draft): draft is Draft => draft !== undefined);
}

const lastWordsKey = (uid: string) => `rushes.last.${uid}`;

/** A page that goes away has no time for the database. What it had not written yet waits in the tab's own store, which
 * is written at once. */
function leaveLastWords(draft: Draft): void {
  try {
    sessionStorage.setItem(lastWordsKey(draft.uid), JSON.stringify(draft));
  } catch (error) {
    if (!(error instanceof DOMException)) throw error; // full: the database has all but the last moment
  }
}

function lastWords(uid: string): Draft | undefined {
  const text = sessionStorage.getItem(lastWordsKey(uid));
  sessionStorage.removeItem(lastWordsKey(uid));
  return text === null ? undefined : (JSON.parse(text) as Draft);
}

/** Drafts with unsaved edits that no living tab holds, as after a crash. Needs Web Locks; plain HTTP has none. */
async function adoptLost(): Promise<Draft[]> {
  if (!navigator.locks) return [];
  const { held = [] } = await navigator.locks.query();
  const claimed = new Set(held.map((lock) => lock.name));
  const all = await drafts.all();
  const lost = all.filter((draft) => !claimed.has(lockName(draft.uid)));
  const edited = lost.filter((draft) => draft.history.done.length > 0);
  for (const draft of lost) if (!edited.includes(draft)) void drafts.remove(draft.uid);
  return edited.sort((left, right) => left.order - right.order);
}

const lockName = (uid: string) => `rushes.draft.${uid}`;

/** Holds the document for as long as this tab lives, so that another tab does not take it for lost. */
function claim(uid: string): void {
  void navigator.locks?.request(lockName(uid), { ifAvailable: true }, (lock) =>
    lock ? new Promise<void>(() => undefined) : undefined,
  );
}

/** Keeps drafts and session up to date from here on. */
export function keepSession(): void {
  const kept = new Map<string, unknown>();
  const claimed = new Set<string>(useDocuments.getState().order);
  let timer: ReturnType<typeof setTimeout> | null = null;

  const changed = (): Draft[] => {
    const { order, documents } = useDocuments.getState();
    return order.flatMap((uid, index) => {
      const open = documents[uid];
      return open && kept.get(uid) !== open ? [{ ...open, at: Date.now(), order: index }] : [];
    });
  };
  const write = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const { documents } = useDocuments.getState();
    for (const draft of changed()) {
      kept.set(draft.uid, documents[draft.uid]);
      void drafts.put(draft);
    }
    for (const uid of kept.keys()) {
      if (documents[uid]) continue;
      kept.delete(uid);
      void drafts.remove(uid);
    }
  };

  useDocuments.subscribe((state) => {
    for (const uid of state.order) {
      if (claimed.has(uid)) continue;
      claimed.add(uid);
      claim(uid);
    }
    writeSession();
    timer ??= setTimeout(write, PAUSE_MS);
  });
  useRuns.subscribe((state, before) => {
    if (state.byDocument !== before.byDocument) writeSession();
  });
  window.addEventListener("pagehide", () => {
    for (const draft of changed()) leaveLastWords(draft);
    write();
  });
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && write());
  write();
  writeSession();
}
