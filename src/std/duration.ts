/** Parses and formats durations such as `250ms`, `30s`, `5m`, `2h`, `7d`; a bare number is in seconds. */
import { RedriveError } from "../errors.ts";

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function parseDuration(text: string, what: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/.exec(text.trim());
  const unit = UNIT_MS[match?.[2] ?? "s"];
  if (!match || unit === undefined) {
    throw new RedriveError("usage", `${what}: "${text}" is not a duration`, {
      hint: "Write a number and a unit: 250ms, 30s, 5m, 2h, 7d.",
    });
  }
  return Math.round(Number(match[1]) * unit);
}

/** Formats a duration for people: `340 ms`, `2.4 s`, `3m 05s`, `2h 07m`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes}m ${pad(Math.floor((ms % 60_000) / 1000))}s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h ${pad(minutes % 60)}m` : `${Math.floor(hours / 24)}d ${pad(hours % 24)}h`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}
