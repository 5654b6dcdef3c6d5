/**
 * Keyboard shortcuts: single keys and sequences such as `g l`. They are disabled in dialogs and while the
 * user types.
 */
import { useEffect, useRef } from "react";

export type Keys = Readonly<Record<string, () => void>>;

const SEQUENCE_MS = 900;
const stack: Keys[] = [];
let first = "";
let firstAt = 0;

/** The editor is in a shadow root, so its events appear to come from the host element. */
function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/u.test(target.tagName);
}

/** Whether the focused element handles the key itself, as a button handles Enter. */
function belongsToElement(event: KeyboardEvent): boolean {
  return (
    event.key === "Enter" &&
    event.target instanceof Element &&
    event.target.closest("a, button, summary") !== null
  );
}

function onKey(event: KeyboardEvent): void {
  if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
  if (isTyping(event) || belongsToElement(event) || document.querySelector("dialog[open]") !== null) return;
  const sequence = event.timeStamp - firstAt < SEQUENCE_MS ? `${first} ${event.key}` : "";
  for (const keys of [...stack].reverse()) {
    const act = keys[sequence] ?? keys[event.key];
    if (act === undefined) continue;
    event.preventDefault();
    first = "";
    act();
    return;
  }
  first = event.key;
  firstAt = event.timeStamp;
}

window.addEventListener("keydown", onKey);

/**
 * Registers shortcuts while the component is mounted. For the same key, the component mounted last takes
 * precedence.
 */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const entry = new Proxy({} as Record<string, () => void>, {
      get: (_, key: string) => latest.current[key],
    });
    stack.push(entry);
    return () => {
      stack.splice(stack.indexOf(entry), 1);
    };
  }, []);
}
