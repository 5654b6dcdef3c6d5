/**
 * Redrives letters according to the operation's plan: delay, rate, canary. The store keeps the progress, so
 * that a redrive can be resumed.
 */
import type { Engine } from "../engine.ts";
import type { Operation, OperationChange, OperationStep } from "../item/operation.ts";
import { WakeSignal } from "../runner/poll-schedule.ts";
import type { StoreRetry } from "../runner/store-retry.ts";
import { assert } from "../std/assert.ts";
import type { Clock } from "../std/clock.ts";
import { formatDuration } from "../std/duration.ts";
import {
  describeStage,
  findReturned,
  findReturnedOfOldGroups,
  nextStage,
  pickOfEachGroup,
  type Returned,
  returnedToJson,
  stageOf,
  stopReason,
} from "./canary.ts";
import { beginSelected, completeSelection } from "./operation.ts";
import { Pacer, planOf, type RedrivePlan } from "./plan.ts";

export interface SendOptions {
  readonly engine: Engine;
  readonly storeRetry: StoreRetry;
  readonly clock: Clock;
  /** Aborting the signal ends the redrive and leaves the operation open. */
  readonly signal: AbortSignal;
  /** Signals that a redriven item has ended. If it is absent, the status is polled. */
  readonly wake?: WakeSignal;
  /** What to do with a paused operation. Default `wait`. */
  readonly whenPaused?: "wait" | "leave";
  readonly onNotice?: (notice: string) => void;
}

/** Yields how many letters each step redrove. Ends when all are redriven or refused. */
export async function* sendLetters(operation: Operation, options: SendOptions): AsyncGenerator<number> {
  const sender = new Sender(operation, options);
  for (;;) {
    const sent = await sender.step();
    if (sent === null) return;
    yield sent;
  }
}

/** Letters per step: a larger step would block other writers too long, a smaller one would slow down the redrive. */
const CHUNK_MAX = 2000;

/** The interval at which changes by other processes are polled. */
const POLL_MS = 500;

class Sender {
  readonly #options: SendOptions;
  readonly #plan: RedrivePlan;
  readonly #pacer: Pacer | null;
  readonly #wake: WakeSignal;
  #operation: Operation;
  #beginsAt: number | null = null;
  /** The letters chosen for the canary that are not redriven yet; null before they were chosen. */
  #picks: number[] | null = null;

  constructor(operation: Operation, options: SendOptions) {
    const { rate, ...plan } = planOf(operation);
    this.#options = options;
    this.#operation = operation;
    this.#plan = plan;
    this.#pacer = rate ? new Pacer(rate, options.clock) : null;
    this.#wake = options.wake ?? new WakeSignal();
    options.signal.addEventListener("abort", () => this.#wake.notify(), { once: true });
  }

  /** Returns how many letters were redriven, or null if there is nothing more to do. */
  async step(): Promise<number | null> {
    const { signal, whenPaused = "wait" } = this.#options;
    const { status } = this.#operation;
    if (signal.aborted || pendingOf(this.#operation) === 0) return null;
    if (status === "ended" || status === "cancelled") return null;
    if (status === "paused") return whenPaused === "leave" ? null : this.#wait(POLL_MS);
    const delayMs = await this.#delayMs();
    if (delayMs > 0) return this.#wait(delayMs);
    return this.#plan.canary ? this.#canary() : this.#send(CHUNK_MAX);
  }

  /** Counts the delay from the operation's start, so that a resumed redrive does not wait again. */
  async #delayMs(): Promise<number> {
    const { engine, storeRetry, clock, onNotice } = this.#options;
    const { delayMs = 0 } = this.#plan;
    if (delayMs === 0) return 0;
    if (this.#beginsAt === null) {
      const now = await storeRetry.run(() => engine.now());
      const leftMs = Math.min(delayMs, this.#operation.createdAt + delayMs - now);
      if (leftMs > 0) onNotice?.(`Starting in ${formatDuration(leftMs)}.`);
      this.#beginsAt = clock.now() + leftMs;
    }
    return Math.max(0, this.#beginsAt - clock.now());
  }

  async #canary(): Promise<number> {
    const { engine, storeRetry } = this.#options;
    const operation = this.#operation;
    if (operation.returned > 0)
      return this.#stopCanary(await storeRetry.run(() => findReturned(engine, operation)));
    const stage = stageOf(this.#operation);
    if (stage.goal === undefined) return this.#beginStages();
    const { done, succeeded, failed } = this.#operation;
    if (done < stage.goal) return this.#send(Math.min(CHUNK_MAX, stage.goal - done));
    if (done > succeeded + failed) return this.#wait(POLL_MS);
    const returned =
      failed === 0 ? null : await storeRetry.run(() => findReturnedOfOldGroups(engine, operation));
    if (returned !== null) return this.#stopCanary(returned);
    const next = nextStage(stage, this.#operation);
    this.#options.onNotice?.(
      `Canary: ${this.#stageText(stage.stage)} finished; starting ${this.#stageText(next.stage)}.`,
    );
    await this.#change({ progress: { ...next } });
    return 0;
  }

  /** The first stage consists of the given number of letters, or of one letter per group. */
  async #beginStages(): Promise<number> {
    const { canary } = this.#plan;
    if (typeof canary !== "number") return this.#sendFirstOfEachGroup();
    const { selected, done } = this.#operation;
    this.#options.onNotice?.(`Canary: ${this.#stageText(1)}.`);
    await this.#change({ progress: { stage: 1, goal: Math.min(selected, done + canary) } });
    return 0;
  }

  #stageText(stage: number): string {
    const { number, name } = describeStage(this.#operation, stage);
    return `stage ${number}, ${name}`;
  }

  /** Redrives one letter per group. After a crash, groups that already have a redriven letter are skipped. */
  async #sendFirstOfEachGroup(): Promise<number> {
    const { engine, storeRetry, onNotice } = this.#options;
    if (this.#picks === null) {
      this.#picks = [...(await storeRetry.run(() => pickOfEachGroup(engine, this.#operation)))];
      onNotice?.(`Canary: ${this.#stageText(1)} (${this.#picks.length}).`);
    }
    if (this.#picks.length > 0) return this.#sendPicks(this.#picks);
    await this.#change({ progress: { stage: 1, goal: this.#operation.done } });
    return 0;
  }

  async #sendPicks(picks: number[]): Promise<number> {
    const allowed = await this.#allowance(Math.min(CHUNK_MAX, picks.length));
    if (allowed === 0) return 0;
    const sent = await this.#advance({
      letters: picks.splice(0, allowed).map((letterSequence) => ({ letterSequence })),
    });
    if (this.#operation.status !== "open") this.#picks = null; // the operation was paused or cancelled: choose again
    return sent;
  }

  async #stopCanary(returned: Returned | null): Promise<number> {
    const refuseRest = returned
      ? stopReason(returned)
      : "the canary stopped: a letter failed again with the same failure";
    const progress = { ...this.#operation.progress, ...(returned && returnedToJson(returned)) };
    await this.#change({ refuseRest, progress });
    return 0;
  }

  async #send(max: number): Promise<number> {
    const allowed = await this.#allowance(max);
    return allowed === 0 ? 0 : this.#advance({ max: allowed });
  }

  /** How many letters the rate allows now; waits once if it allows none. */
  async #allowance(wanted: number): Promise<number> {
    if (this.#pacer === null) return wanted;
    const { waitMs } = this.#pacer;
    if (waitMs > 0) await this.#wait(waitMs);
    return this.#operation.status === "open" ? this.#pacer.take(wanted) : 0;
  }

  async #advance(step: Pick<OperationStep, "max" | "letters">): Promise<number> {
    const { engine, storeRetry } = this.#options;
    const { id, done } = this.#operation;
    const whole = { ...step, ...howToSend(this.#operation, 0) };
    this.#operation = await storeRetry.run(() => engine.advance(id, whole));
    return this.#operation.done - done;
  }

  async #change(change: OperationChange): Promise<void> {
    const { engine, storeRetry } = this.#options;
    this.#operation = await storeRetry.run(() => engine.changeOperation(this.#operation.id, change));
  }

  /** Waits for a notification, at most this long, and reads the operation again. */
  async #wait(ms: number): Promise<number> {
    const { engine, storeRetry, clock } = this.#options;
    await this.#wake.wait(Math.min(POLL_MS, ms), clock);
    const { id } = this.#operation;
    const operation = await storeRetry.run(() => engine.findOperation(id));
    assert(operation !== null, `the operation ${id} is gone`);
    this.#operation = operation;
    return 0;
  }
}

function pendingOf({ selected, done, refused }: Operation): number {
  return selected - done - refused;
}

/** With a rate limit, the letters of one second become due together. */
const TOGETHER_MS = 1000;

/** Makes all letters ready with due times according to the plan, so that workers run them. */
export async function sendAhead(
  begun: Operation,
  engine: Engine,
  storeRetry: StoreRetry,
): Promise<Operation> {
  const { rate, delayMs = 0 } = planOf(begun);
  const intervalMs = rate ? rate.perMs / rate.letters : 0;
  const chunk = rate ? Math.max(1, Math.floor(TOGETHER_MS / intervalMs)) : CHUNK_MAX;
  let operation = begun;
  let dueInMs = Math.max(0, begun.createdAt + delayMs - (await storeRetry.run(() => engine.now())));
  while (operation.status === "open" && operation.done + operation.refused < operation.selected) {
    const step = { max: Math.min(chunk, CHUNK_MAX), ...howToSend(begun, Math.round(dueInMs)) };
    const before = operation.done;
    operation = await storeRetry.run(() => engine.advance(begun.id, step));
    dueInMs += (operation.done - before) * intervalMs;
  }
  return operation;
}

function howToSend(operation: Operation, delayMs: number): Pick<OperationStep, "due" | "priority"> {
  const { priority } = planOf(operation);
  const due = { delayMs, sinceBurialMs: operation.force ? [0] : SINCE_BURIAL_MS };
  return { due, ...(priority !== undefined && { priority }) };
}

const FIRST_MS = 1000;
const CAP_MS = 300_000;

/**
 * Entry n is the wait after burial for a letter that was redriven n times. The waits double up to the
 * maximum.
 */
export const SINCE_BURIAL_MS: readonly number[] = [0, ...doublings()];

function doublings(): number[] {
  const waits: number[] = [];
  for (let ms = FIRST_MS; ms < CAP_MS; ms *= 2) waits.push(ms);
  return [...waits, CAP_MS];
}

export interface RedriveOnResume extends Omit<SendOptions, "engine" | "wake" | "whenPaused"> {
  readonly withLetters: boolean;
  readonly author: string;
}

/** Skips paused redrives, and operations of other kinds, which `ops resume` continues. */
export async function* redriveOnResume(
  engine: Engine,
  queue: string,
  { withLetters, author, ...rest }: RedriveOnResume,
): AsyncGenerator<number> {
  const { storeRetry } = rest;
  const options = { engine, ...rest, whenPaused: "leave" } as const;
  for (const operation of await storeRetry.run(() => engine.listOperations({ queue, open: true }))) {
    if (operation.kind !== "redrive" || operation.status === "paused") continue;
    const complete = await storeRetry.run(() => completeSelection(engine, operation));
    yield* sendLetters(complete, options);
  }
  if (!withLetters) return;
  const selection = { filter: { eligible: true } };
  const request = { kind: "redrive", queue, selection, author } as const;
  yield* sendLetters(await storeRetry.run(() => beginSelected(engine, request)), options);
}
