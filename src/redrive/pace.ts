/**
 * How fast letters are sent back to work: so many at most in a stretch of time, evenly. Time in which nothing was sent is
 * not saved up, so a pause is never followed by a flood.
 */
import { WorkError } from "../errors.ts";
import type { Clock } from "../kit/clock.ts";

/** At most so many letters in a stretch of time. */
export interface Rate {
  readonly letters: number;
  readonly perMs: number;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

/** Reads `5/s`, `100/m` or `1000/h`, or refuses with the name of the option. */
export function parseRate(text: string, what: string): Rate {
  const match = /^(\d{1,9})\s*\/\s*(s|m|h)$/.exec(text.trim());
  const perMs = UNIT_MS[match?.[2] ?? ""];
  const letters = Number(match?.[1]);
  if (perMs !== undefined && letters >= 1) return { letters, perMs };
  throw new WorkError("usage", `${what}: "${text}" is not a rate.`, {
    hint: "Write how many in a second, a minute or an hour: 5/s, 100/m, 1000/h.",
  });
}

/** As it is written on a command line. */
export function rateToText({ letters, perMs }: Rate): string {
  const unit = Object.entries(UNIT_MS).find(([, ms]) => ms === perMs)?.[0];
  return `${letters}/${unit ?? `${perMs}ms`}`;
}

/** Timers are no finer than this is worth: of a high rate, several letters go at once. */
const BEAT_MS = 100;

/** How many letters go at once. */
export function beatOf({ letters, perMs }: Rate): number {
  return Math.max(1, Math.floor((letters * BEAT_MS) / perMs));
}

/** Gives out leave to send, no faster than the rate. */
export class Pacer {
  readonly #rate: Rate;
  readonly #clock: Clock;
  #nextAt: number;

  constructor(rate: Rate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
    this.#nextAt = clock.now();
  }

  /** How long nothing may be sent. */
  get waitMs(): number {
    const leftMs = this.#nextAt - this.#clock.now();
    // A longer wait than was ever planned means that the clock was put back.
    return leftMs > Math.max(BEAT_MS, this.#intervalMs) ? 0 : Math.max(0, leftMs);
  }

  /** How many of the wanted may be sent now; none before `waitMs` has passed. */
  take(wanted: number): number {
    if (this.waitMs > 0) return 0;
    const taken = Math.min(wanted, beatOf(this.#rate));
    this.#nextAt = this.#clock.now() + taken * this.#intervalMs;
    return taken;
  }

  get #intervalMs(): number {
    return this.#rate.perMs / this.#rate.letters;
  }
}
