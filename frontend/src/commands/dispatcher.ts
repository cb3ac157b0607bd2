import { readFragment } from "../document/fragment";
import { activeDocument } from "../state/documents";
import { copySelection, deleteSelection, pasteFragment } from "../state/editing";
import { liftAll, release, setHeld, useDrive } from "../state/live";
import { usePalette } from "../state/palette";
import { stage } from "../state/stage";
import { useOverlays } from "../ui/overlays";
import { ACTIONS, type Action } from "./actions";
import { isApple, matches } from "./keys";

const TEXT_INPUTS = new Set(["text", "search", "number", "url", "email", "password"]);

function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return TEXT_INPUTS.has(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

/** Fields of params write each keystroke into the document, whose history is the one to undo. */
const isParamField = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest("[data-param-fields], .param__field") !== null;

const isCovered = (): boolean => {
  const { menu, dialog } = useOverlays.getState();
  return menu !== null || dialog !== null || usePalette.getState().open !== null;
};

/** Keys that work a focused control; elsewhere than on the graph they stay its own. */
const CONTROL_KEYS = new Set(["Tab", "Enter", " ", "Escape", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]);

/** The graph has the keys when nothing else claims them: focus on it, on a node, or nowhere. */
function isCanvasFocused(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return true;
  return target === document.body || target.closest("[data-testid=canvas]") !== null;
}

function isAllowed(action: Action, event: KeyboardEvent): boolean {
  if (isCovered()) return false;
  if (action.id === "edit.undo" || action.id === "edit.redo") return !isTextField(event.target) || isParamField(event.target);
  if (action.when === "anywhere") return true;
  if (isTextField(event.target)) return false;
  if (!isCanvasFocused(event.target)) return !CONTROL_KEYS.has(event.key);
  const isOnControl = event.target instanceof Element && event.target.closest("button, [role=switch]") !== null;
  if (event.key === "Tab") return event.target instanceof Element && event.target.matches("[data-testid=canvas]");
  return !(isOnControl && (event.key === "Enter" || event.key === " "));
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.isComposing || event.defaultPrevented) return;
  if (driving(event)) return;
  const uid = activeDocument()?.uid;
  if (uid === undefined) return;
  const action = ACTIONS.find((candidate) => candidate.keys.some((keys) => matches(keys, event, isApple())));
  if (!action || !isAllowed(action, event)) return;
  event.preventDefault();
  action.run(uid);
}

/** While a rollout is steered its keys go to it, wherever the focus is, except into text. */
function driving(event: KeyboardEvent): boolean {
  const { drive } = useDrive.getState();
  if (!drive || isTextField(event.target)) return false;
  if (event.key === "Escape") {
    event.preventDefault();
    release();
    return true;
  }
  const control = drive.keyMap[event.code];
  if (control === undefined || event.ctrlKey || event.metaKey || event.altKey) return false;
  event.preventDefault();
  if (!event.repeat) setHeld(control, true, performance.timeOrigin + event.timeStamp);
  return true;
}

function onKeyUp(event: KeyboardEvent): void {
  const control = useDrive.getState().drive?.keyMap[event.code];
  if (control !== undefined) setHeld(control, false, performance.timeOrigin + event.timeStamp);
}

const isForCanvas = (event: ClipboardEvent): boolean =>
  !isTextField(event.target) && !isCovered() && (window.getSelection()?.isCollapsed ?? true);

function onCopy(event: ClipboardEvent, isCut: boolean): void {
  const uid = activeDocument()?.uid;
  if (uid === undefined || !isForCanvas(event)) return;
  const fragment = copySelection(uid);
  if (!fragment) return;
  event.preventDefault();
  event.clipboardData?.setData("text/plain", JSON.stringify(fragment, null, 1));
  if (isCut) deleteSelection(uid);
}

let isShiftHeld = false;

function onPaste(event: ClipboardEvent): void {
  const uid = activeDocument()?.uid;
  if (uid === undefined || !isForCanvas(event)) return;
  const fragment = readFragment(event.clipboardData?.getData("text/plain") ?? "");
  const place = stage()?.place();
  if (!fragment || !place) return;
  event.preventDefault();
  pasteFragment(uid, fragment, place, isShiftHeld);
}

/** Listens to the keyboard and the clipboard for the whole page. */
export function listen(): void {
  window.addEventListener("keydown", (event) => (isShiftHeld = event.shiftKey), true);
  window.addEventListener("keydown", onKeyDown);
  window.addEventListener("keyup", onKeyUp);
  window.addEventListener("blur", liftAll);
  document.addEventListener("copy", (event) => onCopy(event, false));
  document.addEventListener("cut", (event) => onCopy(event, true));
  document.addEventListener("paste", onPaste);
}
