/** Redrives the letters of a target on request or after an outage. After an outage, it sends one letter first as a trial. */
import type { Engine } from "../engine.ts";
import { isStoreTrouble, RedriveError } from "../errors.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { LetterFilter } from "../item/letter-query.ts";
import type { Operation } from "../item/operation.ts";
import { requireTarget } from "../queue/find-job.ts";
import { beginSelected, listStarted, readOperation } from "../redrive/operation.ts";
import { countSelected, type Selection, selectionFor } from "../redrive/select.ts";
import { sendAhead } from "../redrive/send.ts";
import { StoreRetry } from "../runner/store-retry.ts";
import { BackgroundTask } from "../std/background-task.ts";
import { type Clock, systemClock, toRfc3339 } from "../std/clock.ts";
import { messageOf } from "../std/thrown.ts";
import { type Delivery, openDelivery } from "./delivery.ts";
import { requireDeliverable } from "./target-settings.ts";

export interface Recovery {
  readonly job: Job;
  readonly selection: Selection;
  readonly letters: number;
  /** Unfinished redrives of the target that are not paused, oldest first. */
  readonly begun: readonly Operation[];
}

export async function surveyRecovery(engine: Engine, name: string): Promise<Recovery> {
  const job = await requireTarget(engine, name);
  requireDeliverable(job);
  const selection = selectionFor("redrive", { filter: { queue: job.id } });
  const open = await listStarted(engine, { queue: job.id, open: true });
  const begun = open.filter(({ kind, status }) => kind === "redrive" && status !== "paused");
  begun.sort((a, b) => a.createdAt - b.createdAt);
  return { job, selection, letters: await countSelected(engine, selection), begun };
}

/** Throws `target_unreachable` if the target is paused or does not respond. Changes nothing. */
export async function requireReachable(engine: Engine, { job, letters }: Recovery): Promise<void> {
  const kept = letters === 1 ? "1 letter waits" : `${letters} letters wait`;
  const refuse = (problem: string, hint: string) => {
    throw new RedriveError("target_unreachable", `${job.id} ${problem}. Nothing was changed; ${kept}.`, {
      hint,
    });
  };
  if (job.pause) {
    const { at, reason } = job.pause;
    const hint = `Run \`redrive receipts resume ${job.id}\` to end the pause; then run this again.`;
    refuse(`is paused since ${toRfc3339(at)}${reason === "" ? "" : `: ${reason}`}`, hint);
  }
  const delivery = await openDelivery(engine, job, { clock: systemClock });
  try {
    const { isReachable, detail } = await delivery.probe();
    if (!isReachable) refuse(`cannot be reached: ${detail}`, "Run it again when the target is available.");
  } finally {
    await delivery.close();
  }
}

export interface AutoRecoverOptions {
  readonly engine: Engine;
  readonly target: Job;
  readonly delivery: Pick<Delivery, "probe">;
  readonly clock: Clock;
  readonly onNotice: (notice: string) => void;
}

const SOON_MS = 100;
const CHECK_MS_MIN = 2000;
/** The interval between probes doubles up to this limit while the target accepts no receipts. */
const CHECK_MS_MAX = 60_000;

/** Redrives letters that died in an outage when the target accepts receipts again. */
export class AutoRecovery {
  readonly #options: AutoRecoverOptions;
  readonly #stop = new AbortController();
  readonly #task: BackgroundTask;
  #last: Promise<number> = Promise.resolve(0);
  #waitMs = CHECK_MS_MIN;
  #isStarted = false;
  #isTaking = false;
  /** The letter that was sent as a trial, until its result is known. */
  #trial: string | null = null;

  constructor(options: AutoRecoverOptions) {
    this.#options = options;
    this.#task = new BackgroundTask({
      ...options,
      run: async ({ isLast }) => {
        if (!isLast) await this.look();
        return this.#waitMs;
      },
      wakeMs: () => SOON_MS,
      errorText: (reason) => reason,
    });
  }

  get isTaking(): boolean {
    return this.#isTaking;
  }

  start(): void {
    this.#isStarted = true;
    this.#task.wake(0);
  }

  settled({ itemId }: Pick<LeasedItem, "itemId">, { outcome, verdict, failure }: Settlement): void {
    if (outcome === "succeeded") this.#takes();
    else if (failure !== undefined && failure.errorClass !== "permanent") this.#isTaking = false;
    if (itemId !== this.#trial || verdict.kind === "retry" || verdict.kind === "park") return;
    this.#trial = null;
    if (outcome !== "succeeded") this.#waitMs = Math.min(CHECK_MS_MAX, this.#waitMs * 2);
  }

  /** Schedules a check soon when the target starts to accept receipts. */
  #takes(): void {
    if (!this.#isTaking && this.#isStarted) this.#task.wake();
    this.#isTaking = true;
    this.#waitMs = CHECK_MS_MIN;
  }

  /** Runs a check after any running one, and resolves with the number of redriven letters. Never rejects. */
  look(): Promise<number> {
    this.#last = this.#last.then(() => this.#guarded());
    return this.#last;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#task.stop();
    await this.#last;
  }

  async #guarded(): Promise<number> {
    if (this.#stop.signal.aborted) return 0;
    try {
      return await this.#send();
    } catch (error) {
      if (isStoreTrouble(error)) return 0; // the worker reports the error and waits
      this.#options.onNotice(
        `The letters of ${this.#options.target.id} were not redriven: ${messageOf(error)}`,
      );
      this.#waitMs = CHECK_MS_MAX;
      return 0;
    }
  }

  async #send(): Promise<number> {
    const { engine, target, onNotice } = this.#options;
    if (this.#trial !== null) return 0;
    const first = await this.#firstLetter();
    if (first === null || (await engine.findJob(target.id))?.pause !== undefined) return 0;
    if (!this.#isTaking) return this.#sendFirst(first);
    let sent = 0;
    for (const filter of filtersOf(target.id)) sent += await this.#redrive(filter);
    const letters = sent === 1 ? "1 letter" : `${sent} letters`;
    if (sent > 0)
      onNotice(`${target.id} accepts receipts again: ${letters} from an outage are being redriven.`);
    return sent;
  }

  async #firstLetter(): Promise<string | null> {
    const { engine, target } = this.#options;
    for (const filter of filtersOf(target.id)) {
      const { letters } = await engine.listLetters({ ...filter, order: "oldest", limit: 1 });
      if (letters[0] !== undefined) return letters[0].itemId;
    }
    return null;
  }

  async #sendFirst(itemId: string): Promise<number> {
    const { target, delivery } = this.#options;
    const { isReachable } = await delivery.probe(this.#stop.signal);
    if (!isReachable || this.#stop.signal.aborted) {
      this.#waitMs = Math.min(CHECK_MS_MAX, this.#waitMs * 2);
      return 0;
    }
    this.#trial = itemId;
    const sent = await this.#redrive({ queue: target.id, itemIds: [itemId], states: ["dead"] });
    if (sent === 0) this.#trial = null;
    return sent;
  }

  /** Makes the letters ready again, so that this process or another delivers them. Returns their number. */
  async #redrive(filter: LetterFilter): Promise<number> {
    const { engine, clock, target } = this.#options;
    if ((await engine.listLetters({ ...filter, limit: 0 })).total === 0) return 0;
    const wanted = { kind: "redrive", queue: target.id, selection: { filter }, author: AUTHOR } as const;
    const begun = await beginSelected(engine, { ...wanted, force: false, plan: {} });
    await sendAhead(begun, engine, new StoreRetry(STORE_WAIT_MS, clock));
    return (await readOperation(engine, begun.id)).done;
  }
}

const AUTHOR = "redrive (auto-recover)";
const STORE_WAIT_MS = 30_000;

/** Selects letters whose last attempt failed because the target was unavailable, throttled, or did not answer. */
function filtersOf(queue: string): readonly LetterFilter[] {
  const common = { queue, states: ["dead"], eligible: true } as const;
  return [
    { ...common, classes: ["outage", "throttled"] },
    { ...common, classes: ["transient"], types: ["TransportError", "Timeout"] },
  ];
}

/** Returns a function that reports the beginning and the end of an outage from settlements. */
export function outageNotice(name: string, onNotice: (notice: string) => void) {
  let isOut = false;
  return ({ outcome, verdict, failure }: Settlement): void => {
    if (outcome === "succeeded" && isOut) {
      isOut = false;
      onNotice(`${name} answers again.`);
    }
    if (failure === undefined || isOut) return;
    const isParked = verdict.kind === "park";
    const isOutage = failure.errorClass === "throttled" || failure.errorClass === "outage";
    if (!isParked && !(isOutage && verdict.kind === "retry")) return;
    isOut = true;
    const then = isParked
      ? "receipts wait, and no attempts are counted"
      : "receipts are retried, and become letters when they are out of retries";
    onNotice(`${name} does not accept receipts now (${failure.errorMessage}): ${then}.`);
  };
}
