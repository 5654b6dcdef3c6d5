/**
 * The clock of a SQLite store: the machine's clock, corrected if it differs from the clocks of other
 * processes that use the store.
 */
import { type Clock, sleepOn } from "../../std/clock.ts";
import { processStart, thisHost } from "../../std/process-identity.ts";
import { type ClockSample, ClockWatch, sampleOf } from "../clock-record.ts";
import * as steps from "../sql/clock-steps.ts";
import { runOn } from "./db.ts";
import type { Session } from "./session.ts";

export class StoreClock implements Clock {
  readonly watch = new ClockWatch();
  readonly #machine: Clock;
  /** How far this process is ahead of the others. */
  #aheadMs = 0;

  constructor(machineClock: Clock) {
    this.#machine = machineClock;
  }

  now(): number {
    return this.#machine.now() - this.#aheadMs;
  }

  monotonicNow(): number {
    return this.#machine.monotonicNow();
  }

  uptimeNow(): number {
    return this.#machine.uptimeNow();
  }

  after(ms: number, action: () => void): () => void {
    return this.#machine.after(ms, action);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  /** Whether the clock may have changed since the last check. */
  get isDue(): boolean {
    return this.#aheadMs !== 0 || this.watch.isDue(this.#machine);
  }

  sample(): ClockSample {
    return sampleOf(this.#machine);
  }

  /** Records the sample, and how far this process is ahead of the others. */
  looked(sample: ClockSample, aheadMs: number): void {
    const isNews = aheadMs !== 0 && this.#aheadMs === 0;
    this.#aheadMs = aheadMs;
    this.watch.looked(sample, this.#machine);
    if (isNews) this.watch.report(aheadMs);
  }
}

/**
 * Call in a separate transaction, before one that writes. Moves waits only by a step that this process has
 * observed, or that happened while no process was running, because otherwise its own clock may be wrong.
 * Returns a function to call after the commit.
 */
export function followClock(session: Session): () => void {
  const { clock } = session;
  const sample = clock.sample();
  const seenMs = clock.watch.seenStep(sample) ?? 0;
  const mayMove = (stepMs: number) => stepMs === 0 || seenMs !== 0 || !isAnotherAlive(session);
  const { stepMs, isFollowed } = runOn(session, (db) => steps.followClock(db, sample, mayMove));
  if (!isFollowed) return () => clock.looked(sample, stepMs);
  return () => {
    clock.looked(sample, 0);
    const foundMs = stepMs === 0 ? seenMs : stepMs;
    if (foundMs !== 0) clock.watch.report(foundMs);
  };
}

/** Whether another process on this machine uses the store; such a process observes clock steps itself. */
function isAnotherAlive(session: Session): boolean {
  const holders = session.all<{ host: string; pid: number; process_start: string }>(
    "SELECT host, pid, process_start FROM holders WHERE gone = 0 AND expires_at > 0",
  );
  return holders.some(({ host, pid, process_start }) => {
    if (host !== thisHost() || pid === process.pid) return false;
    const start = processStart(pid);
    return start !== null && (process_start === "" || start === process_start);
  });
}
