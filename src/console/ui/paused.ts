/** A value after somebody has stopped changing it, so that a preview is not read for every key. */
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
