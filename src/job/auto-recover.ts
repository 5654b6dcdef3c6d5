/**
 * Sends the letters of a target that died of an outage again, once the target takes receipts: beside a process that delivers.
 * A delivery that succeeded shows that it does. Otherwise one letter is sent first, and only when the target can be reached.
 * Refused receipts and letters that came back too often are left to a person.
 */
import type { Delivery } from "../delivery/open-delivery.ts";
import type { Engine } from "../engine.ts";
import { isStoreTrouble } from "../errors.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { LetterFilter } from "../item/letter-filter.ts";
import type { Clock } from "../kit/clock.ts";
import { beginSelected } from "../redrive/operation.ts";
import { sendAhead } from "../redrive/send-ahead.ts";
import { Patience } from "../runner/patience.ts";

export interface AutoRecoverOptions {
  readonly engine: Engine;
  readonly target: Job;
  readonly delivery: Pick<Delivery, "probe">;
  readonly clock: Clock;
  readonly onNotice: (notice: string) => void;
}

const AUTHOR = "redrive (auto-recover)";
const STORE_WAIT_MS = 30_000;
const SOON_MS = 100;
const LOOK_MS_MIN = 2000;
/** While the target does not take receipts it is asked ever more rarely. */
const LOOK_MS_MAX = 60_000;

export class AutoRecovery {
  readonly #options: AutoRecoverOptions;
  readonly #stop = new AbortController();
  #cancelTimer: (() => void) | undefined;
  #looking: Promise<number> = Promise.resolve(0);
  #waitMs = LOOK_MS_MIN;
  #isTaking = false;
  /** The letter that was sent first, until it has come to its end. */
  #trial: string | null = null;

  constructor(options: AutoRecoverOptions) {
    this.#options = options;
  }

  /** Whether the last delivery of this process succeeded. */
  get isTaking(): boolean {
    return this.#isTaking;
  }

  /** Looks again and again until it is stopped. */
  start(): void {
    void this.look().finally(() => this.#lookLater());
  }

  settled({ itemId }: Pick<LeasedItem, "itemId">, { outcome, verdict, failure }: Settlement): void {
    if (outcome === "succeeded") this.#takes();
    else if (failure !== undefined && failure.errorClass !== "permanent") this.#isTaking = false;
    if (itemId !== this.#trial || verdict.kind === "retry" || verdict.kind === "park") return;
    this.#trial = null;
    if (outcome !== "succeeded") this.#waitMs = Math.min(LOOK_MS_MAX, this.#waitMs * 2);
  }

  /** The target takes receipts: if that is news, what died before is looked for soon. */
  #takes(): void {
    const isNews = !this.#isTaking;
    this.#isTaking = true;
    this.#waitMs = LOOK_MS_MIN;
    if (!isNews || this.#cancelTimer === undefined) return;
    this.#cancelTimer();
    this.#cancelTimer = this.#options.clock.after(SOON_MS, () => this.start());
  }

  /** Sends what can be sent now; resolves with how many letters that were. Never rejects. */
  look(): Promise<number> {
    this.#looking = this.#looking.then(() => this.#guarded());
    return this.#looking;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#cancelTimer?.();
    await this.#looking;
  }

  #lookLater(): void {
    this.#cancelTimer?.(); // one that was planned meanwhile would go on beside this one
    if (this.#stop.signal.aborted) return;
    this.#cancelTimer = this.#options.clock.after(this.#waitMs, () => this.start());
  }

  async #guarded(): Promise<number> {
    if (this.#stop.signal.aborted) return 0;
    try {
      return await this.#send();
    } catch (error) {
      if (isStoreTrouble(error)) return 0; // the worker meets the same trouble, and waits
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.onNotice(`Letters of ${this.#options.target.id} were not sent again: ${reason}`);
      this.#waitMs = LOOK_MS_MAX;
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
    if (sent > 0) onNotice(`${target.id} takes receipts: ${letters} of an outage are sent again.`);
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
      this.#waitMs = Math.min(LOOK_MS_MAX, this.#waitMs * 2);
      return 0;
    }
    this.#trial = itemId;
    const sent = await this.#redrive({ queue: target.id, itemIds: [itemId], states: ["dead"] });
    if (sent === 0) this.#trial = null;
    return sent;
  }

  /** The letters are back in line then: whoever delivers, this process or another, sends them. */
  async #redrive(filter: LetterFilter): Promise<number> {
    const { engine, clock, target } = this.#options;
    if ((await engine.listLetters({ ...filter, limit: 0 })).total === 0) return 0;
    const wanted = { kind: "redrive", queue: target.id, selection: { filter }, author: AUTHOR } as const;
    const begun = await beginSelected(engine, { ...wanted, force: false, plan: {} });
    await sendAhead(begun, engine, new Patience(STORE_WAIT_MS, clock));
    return (await engine.closeOperation(begun.id)).done;
  }
}

/** Letters whose last try met an outage: the target was away, throttled, or did not answer. */
function filtersOf(queue: string): readonly LetterFilter[] {
  const common = { queue, states: ["dead"], eligible: true } as const;
  return [
    { ...common, classes: ["outage", "throttled"] },
    { ...common, classes: ["transient"], types: ["TransportError", "Timeout"] },
  ];
}
