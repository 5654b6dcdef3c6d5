/**
 * Sends the letters of a redrive back to work, step by step, as its plan says: after its delay, no faster than its rate,
 * a few first when it is a canary. Whatever happens in between, the books tell where to go on.
 */
import type { Engine } from "../engine.ts";
import type { Operation, OperationChange, OperationStep } from "../item/operation.ts";
import { assert } from "../kit/assert.ts";
import type { Clock } from "../kit/clock.ts";
import { formatDuration } from "../kit/duration.ts";
import type { Patience } from "../runner/patience.ts";
import { Wake } from "../runner/wake.ts";
import {
  findReturned,
  findReturnedOfOldGroups,
  nextStage,
  pickOfEachGroup,
  type Returned,
  returnedToJson,
  STAGE_NAMES,
  stageOf,
  stageToJson,
  stopReason,
} from "./canary.ts";
import { SINCE_BURIAL_MS } from "./letter-backoff.ts";
import { Pacer } from "./pace.ts";
import { planOf, type RedrivePlan } from "./plan.ts";

export interface SendOptions {
  readonly engine: Engine;
  readonly patience: Patience;
  readonly clock: Clock;
  /** Aborted to end. */
  readonly signal: AbortSignal;
  /** Rung when a letter has come to an end; without it, that is found out a little later. */
  readonly bell?: Wake;
  /** What to do with an operation that is paused. Default `wait`. */
  readonly whenPaused?: "wait" | "leave";
  readonly onNotice?: (notice: string) => void;
}

/** Yields how many letters each step sent back to ready. It ends when all are sent or refused. */
export async function* sendLetters(operation: Operation, options: SendOptions): AsyncGenerator<number> {
  const sender = new Sender(operation, options);
  for (;;) {
    const sent = await sender.step();
    if (sent === null) return;
    yield sent;
  }
}

/** Small enough that other writers get their turn, large enough that 100,000 letters take seconds. */
const CHUNK_MAX = 2000;

/** How often other processes' changes are looked for. */
const POLL_MS = 500;

class Sender {
  readonly #options: SendOptions;
  readonly #plan: RedrivePlan;
  readonly #pacer: Pacer | null;
  readonly #bell: Wake;
  #operation: Operation;
  #beginsAt: number | null = null;
  /** The first of each group that are not sent yet; null before they were looked for. */
  #picks: number[] | null = null;

  constructor(operation: Operation, options: SendOptions) {
    const { rate, ...plan } = planOf(operation);
    this.#options = options;
    this.#operation = operation;
    this.#plan = plan;
    this.#pacer = rate ? new Pacer(rate, options.clock) : null;
    this.#bell = options.bell ?? new Wake();
    options.signal.addEventListener("abort", () => this.#bell.ring(), { once: true });
  }

  /** How many letters were sent; null when there is nothing more to do. */
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

  /** It counts from the operation's beginning, so that it is not waited for twice. */
  async #delayMs(): Promise<number> {
    const { engine, patience, clock, onNotice } = this.#options;
    const { delayMs = 0 } = this.#plan;
    if (delayMs === 0) return 0;
    if (this.#beginsAt === null) {
      const now = await patience.through(() => engine.now());
      const leftMs = Math.min(delayMs, this.#operation.createdAt + delayMs - now);
      if (leftMs > 0) onNotice?.(`The first of them is sent in ${formatDuration(leftMs)}.`);
      this.#beginsAt = clock.now() + leftMs;
    }
    return Math.max(0, this.#beginsAt - clock.now());
  }

  async #canary(): Promise<number> {
    const { engine, patience } = this.#options;
    const operation = this.#operation;
    if (operation.returned > 0)
      return this.#stopCanary(await patience.through(() => findReturned(engine, operation)));
    const stage = stageOf(this.#operation);
    if (stage.goal === undefined) return this.#sendFirstOfEachGroup();
    const { done, succeeded, failed } = this.#operation;
    if (done < stage.goal) return this.#send(Math.min(CHUNK_MAX, stage.goal - done));
    if (done > succeeded + failed) return this.#wait(POLL_MS);
    const returned =
      failed === 0 ? null : await patience.through(() => findReturnedOfOldGroups(engine, operation));
    if (returned !== null) return this.#stopCanary(returned);
    const next = nextStage(stage, this.#operation);
    this.#options.onNotice?.(`Canary: ${stageText(stage.stage)}, has ended; now ${stageText(next.stage)}.`);
    await this.#change({ progress: stageToJson(next) });
    return 0;
  }

  /** Killed in between, the groups that have a letter at work are passed over the next time. */
  async #sendFirstOfEachGroup(): Promise<number> {
    const { engine, patience, onNotice } = this.#options;
    if (this.#picks === null) {
      this.#picks = [...(await patience.through(() => pickOfEachGroup(engine, this.#operation)))];
      onNotice?.(`Canary: ${stageText(1)} (${this.#picks.length}).`);
    }
    if (this.#picks.length > 0) return this.#sendPicks(this.#picks);
    await this.#change({ progress: stageToJson({ stage: 1, goal: this.#operation.done }) });
    return 0;
  }

  async #sendPicks(picks: number[]): Promise<number> {
    const leave = await this.#leave(Math.min(CHUNK_MAX, picks.length));
    if (leave === 0) return 0;
    const sent = await this.#advance({ letters: picks.splice(0, leave).map((burial) => ({ burial })) });
    if (this.#operation.status !== "open") this.#picks = null; // nothing was sent: they are looked for again
    return sent;
  }

  async #stopCanary(returned: Returned | null): Promise<number> {
    const refuseRest = returned
      ? stopReason(returned)
      : "the canary stopped: a letter came back with the same failure";
    const progress = { ...this.#operation.progress, ...(returned && returnedToJson(returned)) };
    await this.#change({ refuseRest, progress });
    return 0;
  }

  async #send(max: number): Promise<number> {
    const leave = await this.#leave(max);
    return leave === 0 ? 0 : this.#advance({ max: leave });
  }

  /** How many the rate lets through now; waits once when it is none. */
  async #leave(wanted: number): Promise<number> {
    if (this.#pacer === null) return wanted;
    const { waitMs } = this.#pacer;
    if (waitMs > 0) await this.#wait(waitMs);
    return this.#operation.status === "open" ? this.#pacer.take(wanted) : 0;
  }

  async #advance(step: Pick<OperationStep, "max" | "letters">): Promise<number> {
    const { engine, patience } = this.#options;
    const { id, force, done } = this.#operation;
    const due = { delayMs: 0, sinceBurialMs: force ? [0] : SINCE_BURIAL_MS };
    const { priority } = planOf(this.#operation);
    const how = { due, ...(priority !== undefined && { priority }) };
    this.#operation = await patience.through(() => engine.advance(id, { ...step, ...how }));
    return this.#operation.done - done;
  }

  async #change(change: OperationChange): Promise<void> {
    const { engine, patience } = this.#options;
    this.#operation = await patience.through(() => engine.changeOperation(this.#operation.id, change));
  }

  /** Until something may have changed, or at most so long; then looks how the operation stands. */
  async #wait(ms: number): Promise<number> {
    const { engine, patience, clock } = this.#options;
    await this.#bell.wait(Math.min(POLL_MS, ms), clock);
    const { id } = this.#operation;
    const operation = await patience.through(() => engine.findOperation(id));
    assert(operation !== null, `the operation ${id} is gone`);
    this.#operation = operation;
    return 0;
  }
}

function pendingOf({ selected, done, refused }: Operation): number {
  return selected - done - refused;
}

function stageText(stage: number): string {
  return `stage ${stage}, ${STAGE_NAMES[stage - 1] ?? ""}`;
}
