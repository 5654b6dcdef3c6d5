/** Settings as they are written on a command line, so that what is shown can be typed again. Pure. */
import { type Backoff, OUTAGE_MS_MAX, type Policy } from "../retry/policy.ts";

/** What `parseBackoff` reads. */
export function backoffToText(backoff: Backoff): string {
  const suffix = backoff.jitter || !("maxMs" in backoff) ? "" : ":nojitter";
  switch (backoff.kind) {
    case "exponential": {
      const factor = backoff.factor === 2 ? "" : `:${backoff.factor}`;
      return `exponential:${durationToText(backoff.initialMs)}:${durationToText(backoff.maxMs)}${factor}${suffix}`;
    }
    case "linear":
    case "fibonacci":
      return `${backoff.kind}:${durationToText(backoff.initialMs)}:${durationToText(backoff.maxMs)}${suffix}`;
    case "fixed":
      return backoff.delayMs === 0 ? "none" : `fixed:${durationToText(backoff.delayMs)}`;
    case "list":
      return `list:${backoff.delaysMs.map(durationToText).join(",")}`;
  }
}

/** `retry`, or `wait` with its limit. */
export function outageToText({ onOutage = "retry", outageMsMax = OUTAGE_MS_MAX }: Policy): string {
  return onOutage === "wait" ? `wait, for at most ${durationToText(outageMsMax)}` : onOutage;
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
] as const;

/** What `parseDuration` reads: in the largest unit that it is a whole number of. */
export function durationToText(ms: number): string {
  const unit = UNITS.find(([, unitMs]) => ms >= unitMs && ms % unitMs === 0);
  return unit ? `${ms / unit[1]}${unit[0]}` : `${ms}ms`;
}

/** A rate in the unit in which it is a whole number, if there is one. */
export function rateToText(perSecond: number): string {
  const whole = (
    [
      ["s", 1],
      ["m", 60],
      ["h", 3600],
    ] as const
  ).find(([, seconds]) => isWhole(perSecond * seconds));
  return whole ? `${Math.round(perSecond * whole[1])}/${whole[0]}` : `${perSecond}/s`;
}

/** A third of a second times three is one, whatever the last bit says. */
function isWhole(value: number): boolean {
  return Math.round(value) >= 1 && Math.abs(value - Math.round(value)) < 1e-9;
}
