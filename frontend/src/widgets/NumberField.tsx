import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import { decimalsOf, onGrid, type Range, readNumber } from "./expression";

interface Props {
  id: string;
  label: string;
  value: number;
  range: Range;
  isInteger: boolean;
  /** Draws the value's place in its range behind the number. */
  hasBar: boolean;
  unit: string | null;
  onChange: (value: number) => void;
}

const SCRUB_START_PX = 3;
const PX_PER_STEP = 6;

/** A number: drag sideways to scrub (Shift tenfold, Alt a tenth), click to type, arrows to step. */
export function NumberField({ id, label, value, range, isInteger, hasBar, unit, onChange }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const scrub = useRef<{ x: number; from: number; isMoving: boolean } | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const decimals = decimalsOf(range.step);
  const shown = typed ?? (isInteger ? String(value) : value.toFixed(Math.max(decimals, decimalsOf(value))));
  const share =
    hasBar && range.minimum !== null && range.maximum !== null
      ? Math.min(Math.max((value - range.minimum) / (range.maximum - range.minimum), 0), 1)
      : null;

  const commit = (text: string) => {
    const read = readNumber(text);
    if (read !== null) onChange(isInteger ? Math.round(read) : read);
  };

  const onPointerDown = (event: PointerEvent<HTMLInputElement>) => {
    if (event.button !== 0 || document.activeElement === input.current) return;
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    scrub.current = { x: event.clientX, from: value, isMoving: false };
  };

  const onPointerMove = (event: PointerEvent<HTMLInputElement>) => {
    const start = scrub.current;
    if (!start) return;
    const distance = event.clientX - start.x;
    if (!start.isMoving && Math.abs(distance) < SCRUB_START_PX) return;
    start.isMoving = true;
    const factor = event.shiftKey ? 10 : event.altKey ? 0.1 : 1;
    const perPx =
      share !== null && range.minimum !== null && range.maximum !== null
        ? (range.maximum - range.minimum) / Math.max(event.currentTarget.clientWidth, 1)
        : range.step / PX_PER_STEP;
    onChange(onGrid(start.from + distance * perPx * factor, range));
  };

  const onPointerUp = () => {
    const start = scrub.current;
    scrub.current = null;
    if (!start || start.isMoving) return;
    input.current?.focus();
    input.current?.select();
  };

  /** Taken away by the browser, as when a touch becomes a scroll: no drag goes on without its pointer. */
  const onPointerLost = () => {
    scrub.current = null;
  };

  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const steps = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (steps !== undefined) {
      event.preventDefault();
      setTyped(null);
      onChange(onGrid(value + steps * range.step * (event.shiftKey ? 10 : 1), range));
    } else if (event.key === "Enter") {
      commit(event.currentTarget.value);
      setTyped(null);
      event.currentTarget.select();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      setTyped(null);
      event.currentTarget.blur();
    }
  };

  return (
    <div className="number">
      {share !== null && <div className="number__bar" style={{ width: `${share * 100}%` }} />}
      <input
        ref={input}
        id={id}
        className="number__input"
        role="spinbutton"
        aria-label={label}
        aria-valuenow={value}
        aria-valuemin={range.minimum ?? undefined}
        aria-valuemax={range.maximum ?? undefined}
        inputMode={isInteger ? "numeric" : "decimal"}
        autoComplete="off"
        spellCheck={false}
        value={shown}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={onPointerLost}
        onLostPointerCapture={onPointerLost}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={(event) => {
          if (typed !== null) commit(event.target.value);
          setTyped(null);
        }}
        onKeyDown={onKeyDown}
      />
      {unit && <span className="number__unit">{unit}</span>}
    </div>
  );
}
