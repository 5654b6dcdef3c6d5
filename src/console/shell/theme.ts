/** The colour theme: light, dark, or the system's setting. */
import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const KEY = "redrive.theme";
const DARK = window.matchMedia("(prefers-color-scheme: dark)");
const ORDER: readonly Theme[] = ["system", "light", "dark"];
const listeners = new Set<() => void>();

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return ORDER.find((theme) => theme === value) ?? "system";
}

export function applyTheme(): void {
  const theme = stored();
  const isDark = theme === "dark" || (theme === "system" && DARK.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  for (const listener of listeners) listener();
}

export function nextTheme(): void {
  const index = ORDER.indexOf(stored());
  localStorage.setItem(KEY, ORDER[(index + 1) % ORDER.length] ?? "system");
  applyTheme();
}

export function useTheme(): Theme {
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return useSyncExternalStore(subscribe, stored);
}

DARK.addEventListener("change", applyTheme);
