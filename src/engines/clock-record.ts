/**
 * Finds steps of the store's clock: somebody sets it, or a time server does. The store keeps how far its clock was ahead of the time
 * since each machine started, which nobody moves. Who finds another difference has found a step, also when it happened while no
 * process ran. The record is changed in the transaction that moves the due times, so that of many processes one moves them.
 */
import { readlinkSync } from "node:fs";
import { type Clock, systemClock } from "../std/clock.ts";
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { thisHost } from "../std/process-identity.ts";

/** Less is no step: it is the drift of two clocks, or a slow answer. */
export const STEP_MS_MIN = 5_000;
/** How far two clocks may drift apart. */
const DRIFT = 1 / 1000;
/** What is older says nothing: the machine may have slept, been copied or restored meanwhile. */
const RECORD_MS_MAX = 30 * 86_400_000;
/** A difference that is worth writing down. */
const NOTED_MS_MIN = 1_000;

/** The store's time, which was read between two moments of the machine's uptime. */
export interface ClockSample {
  readonly now: number;
  readonly upFrom: number;
  readonly upTo: number;
}

/** What the record has of one machine. */
interface Noted extends JsonObject {
  /** How far the store's clock was ahead of the machine's uptime. */
  readonly aheadMs: number;
  /** The uptime when that was noted. */
  readonly upMs: number;
}

/** By machine. */
export type ClockRecord = Readonly<Record<string, Noted>>;

export function readRecord(body: Json | undefined): ClockRecord {
  return isJsonObject(body) ? (body as ClockRecord) : {};
}

let here: string | undefined;

/** Where uptimes can be compared: on this machine, since its boot, in this space of processes and times. */
export function machine(): string {
  here ??= `${thisHost()}/${timeSpace()}`;
  return here;
}

function timeSpace(): string {
  try {
    return readlinkSync("/proc/self/ns/time");
  } catch {
    return ""; // not on this system
  }
}

/** A sample of a clock of this machine. Read again when the process was stopped in between. */
export function sampleOf(clock: Clock): ClockSample {
  for (let tries = 0; ; tries += 1) {
    const upFrom = clock.uptimeNow();
    const now = clock.now();
    const upTo = clock.uptimeNow();
    if (upTo - upFrom < 100 || tries === 10) return { now, upFrom, upTo };
  }
}

/** By how much the clock was stepped since it was noted; 0 when it was not. */
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

/** The record after a step, or null when it is good as it is. Other machines see the same clock, and so the same step. */
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

/** What one process has seen of the store's clock. */
export class ClockWatch {
  readonly #reports = new Set<ClockReport>();
  #seen: Noted | undefined;
  /** By which the cheap look is made. */
  #fastAheadMs = Number.NaN;

  /** True when it may have been stepped since the last look, or was never looked at. Costs no call of the system. */
  isDue(clock: Clock): boolean {
    return !(Math.abs(clock.now() - clock.monotonicNow() - this.#fastAheadMs) < NOTED_MS_MIN);
  }

  /** The step that this process has seen itself; undefined when it looks for the first time. */
  seenStep(sample: ClockSample): number | undefined {
    return this.#seen === undefined ? undefined : stepSince(this.#seen, sample);
  }

  /** It was looked at, and what was found is dealt with. */
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

/** The uptime's clock where the store's time comes from elsewhere. */
export function uptimeOf(clock: Clock | undefined): number {
  return (clock ?? systemClock).uptimeNow();
}

/** A gate's times after a step, or null when none of them is affected. They are waits, and keep what is left of them. */
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
