import type { PointerEvent } from "react";
import { capOf, IDENTITY } from "../document/keymap";
import { t } from "../i18n";
import { arm, keyMapFor, setHeld, useDrive, useSteerable } from "../state/live";
import { useDocuments } from "../state/documents";

const WORDS: Record<string, string> = { w: "up", a: "left", s: "down", d: "right" };
const PLACES: Record<string, string> = { w: "2 / 1", a: "1 / 2", s: "2 / 2", d: "3 / 2" };

interface Props {
  uid: string;
  /** Keys to offer while no rollout listens. */
  keys: readonly string[];
  size?: "small" | "large";
}

/** Key caps: they light up while held, by keyboard or pointer, and steer the running rollout. */
export function KeyPad({ uid, keys, size = "small" }: Props) {
  const held = useDrive((state) => state.held);
  const drive = useDrive((state) => state.drive);
  const doc = useDocuments((state) => state.documents[uid]?.doc);
  const target = useSteerable(uid);
  const shown = target?.keys.length ? target.keys : keys;
  const keyMap = target ? keyMapFor(doc, target.nodeId) : IDENTITY;

  const press = (key: string, event: PointerEvent<HTMLButtonElement>) => {
    if (!target) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    arm(uid, target.jobId, target.nodeId);
    setHeld(key, true);
  };

  return (
    <div
      className={`keypad keypad--${size} nodrag`}
      role="group"
      aria-label={t("Steering keys")}
      data-armed={drive?.uid === uid || undefined}
    >
      {shown.map((key) => (
        <button
          key={key}
          type="button"
          className="keypad__key"
          style={{ gridArea: gridAreaOf(key) }}
          aria-label={t("Hold {key}: {way}", { key, way: t(WORDS[key] ?? key) })}
          aria-pressed={held.includes(key)}
          data-key={key}
          disabled={!target}
          onPointerDown={(event) => press(key, event)}
          onPointerUp={() => setHeld(key, false)}
          onPointerCancel={() => setHeld(key, false)}
          onLostPointerCapture={() => setHeld(key, false)}
        >
          {capOf(keyMap, key)}
        </button>
      ))}
    </div>
  );
}

function gridAreaOf(key: string): string | undefined {
  const place = PLACES[key];
  if (!place) return undefined;
  const [column, row] = place.split(" / ");
  return `${row} / ${column} / auto / auto`;
}
