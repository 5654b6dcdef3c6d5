/**
 * Detects steps of the store's clock by comparing it with each machine's uptime, which cannot be set. If the
 * difference changes, the clock was stepped. The difference is recorded in the transaction that adjusts due
 * times, so only one process adjusts them.
 */
import { readlinkSync } from "node:fs";
import { type Clock, systemClock } from "../std/clock.ts";
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { thisHost } from "../std/process-identity.ts";

/** Smaller differences are treated as drift or slow responses, not as a step. */
export const STEP_MS_MIN = 5_000;
/** The tolerated drift between two clocks, as a fraction of the elapsed time. */
const DRIFT = 1 / 1000;
/** Records older than this are ignored: the machine may have slept or been copied or restored. */
const RECORD_MS_MAX = 30 * 86_400_000;
/** The smallest change of the difference between the clocks that is recorded. */
const NOTED_MS_MIN = 1_000;

/** A reading of the store's clock, with the machine's uptime before and after it. */
export interface ClockSample {
  readonly now: number;
  readonly upFrom: number;
  readonly upTo: number;
}

/** The entry of one machine in the clock record. */
interface Noted extends JsonObject {
  /** How far the store's clock was ahead of the machine's uptime. */
  readonly aheadMs: number;
  /** The uptime when `aheadMs` was recorded. */
  readonly upMs: number;
}

/** Entries keyed by the result of `machine()`. */
export type ClockRecord = Readonly<Record<string, Noted>>;

export function readRecord(body: Json | undefined): ClockRecord {
  return isJsonObject(body) ? (body as ClockRecord) : {};
}

let here: string | undefined;

/**
 * Identifies the scope in which uptimes can be compared: this machine, this boot, this process and time
 * namespace.
 */
export function machine(): string {
  here ??= `${thisHost()}/${timeSpace()}`;
  return here;
}

function timeSpace(): string {
  try {
    return readlinkSync("/proc/self/ns/time");
  } catch {
    return ""; // this system has no time namespaces
  }
}

/** Samples a clock of this machine. Repeats the reading if the process was suspended during it. */
export function sampleOf(clock: Clock): ClockSample {
  for (let tries = 0; ; tries += 1) {
    const upFrom = clock.uptimeNow();
    const now = clock.now();
    const upTo = clock.uptimeNow();
    if (upTo - upFrom < 100 || tries === 10) return { now, upFrom, upTo };
  }
}

/** Returns the size of the step since the record, or 0 if there was none. */
export function stepSince(noted: Noted | undefined, { now, upFrom, upTo }: ClockSample): number {
  if (noted === undefined) return 0;
  const agedMs = upTo - noted.upMs;
  if (agedMs < 0 || agedMs > RECORD_MS_MAX) return 0;
  const [least, most] = [now - upTo, now - upFrom];
  const tolerance = STEP_MS_MIN + DRIFT * agedMs;
  if (noted.aheadMs < least - tolerance) return Math.round(least - noted.aheadMs);
  if (noted.aheadMs > most + tolerance) return Math.round(most - noted.aheadMs);
  return 0;
}

/** Returns the new record, or null if it need not change. The entries of all machines move by the same step. */
export function nextRecord(record: ClockRecord, sample: ClockSample, stepMs: number): ClockRecord | null {
  const own = notedOf(sample);
  const before = record[machine()];
  if (stepMs === 0 && before !== undefined && Math.abs(own.aheadMs - before.aheadMs) < NOTED_MS_MIN)
    return null;
  const others = Object.entries(record)
    .filter(([name]) => name !== machine())
    .slice(-MACHINES_MAX)
    .map(([name, noted]) => [name, { ...noted, aheadMs: noted.aheadMs + stepMs }] as const);
  return { ...Object.fromEntries(others), [machine()]: own };
}

const MACHINES_MAX = 50;

function notedOf({ now, upFrom, upTo }: ClockSample): Noted {
  return { aheadMs: Math.round(now - (upFrom + upTo) / 2), upMs: Math.round(upTo) };
}

/** Watches the store's clock for one process. */
export class ClockWatch {
  readonly #reports = new Set<ClockReport>();
  #seen: Noted | undefined;
  /** How far the clock was ahead of the monotonic clock at the last check. */
  #fastAheadMs = Number.NaN;

  /** Whether the clock may have been stepped since the last check. Needs no system call. */
  isDue(clock: Clock): boolean {
    return !(Math.abs(clock.now() - clock.monotonicNow() - this.#fastAheadMs) < NOTED_MS_MIN);
  }

  /** The step that this process observed; undefined at the first check. */
  seenStep(sample: ClockSample): number | undefined {
    return this.#seen === undefined ? undefined : stepSince(this.#seen, sample);
  }

  /** Call after the clock was checked and the result was handled. */
  looked(sample: ClockSample, clock?: Clock): void {
    this.#seen = notedOf(sample);
    if (clock) this.#fastAheadMs = clock.now() - clock.monotonicNow();
  }

  on(report: ClockReport): () => void {
    this.#reports.add(report);
    return () => this.#reports.delete(report);
  }

  report(stepMs: number): void {
    for (const report of this.#reports) report(stepMs);
  }
}

/** Receives by how many milliseconds the clock was stepped, forward or back. */
export type ClockReport = (stepMs: number) => void;

/** Returns this machine's uptime. `clock` is undefined if the store's time comes from a database server. */
export function uptimeOf(clock: Clock | undefined): number {
  return (clock ?? systemClock).uptimeNow();
}

/**
 * Returns the gate with its times adjusted by a clock step, or null if nothing changes. Waits keep their
 * remaining time.
 */
export function movedGate(
  body: Json,
  { before, stepMs }: { before: number; stepMs: number },
): JsonObject | null {
  if (!isJsonObject(body)) return null;
  const { parkedUntil, breaker } = body;
  const isParked = typeof parkedUntil === "number" && parkedUntil > before;
  const gate = isJsonObject(breaker) && isJsonObject(breaker.gate) ? breaker.gate : {};
  const times = Object.entries(gate).filter(([name]) => name === "untilMs" || name === "probedAtMs");
  if (!isParked && times.length === 0) return null;
  const moved = Object.fromEntries(times.map(([name, at]) => [name, Number(at) + stepMs]));
  return {
    ...body,
    ...(isParked && { parkedUntil: parkedUntil + stepMs }),
    ...(times.length > 0 &&
      isJsonObject(breaker) && { breaker: { ...breaker, gate: { ...gate, ...moved } } }),
  };
}
