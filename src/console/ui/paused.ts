/** Debounces a value, so that a preview is not requested on every keystroke. */
import { useEffect, useState } from "react";

const PAUSE_MS = 300;

export function usePaused<Value>(value: Value): Value {
  const [paused, setPaused] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return paused;
}
