/**
 * The loop that drives leasing, attempts, decisions and settling for every kind of queue. Each turn settles what has
 * ended and leases what is due in one durable step of the store; then the leased items start. It holds no more
 * items in memory than it has slots, and acknowledges nothing before the store has it.
 */
import type { Engine, Exchange, Exchanged } from "../engine.ts";
import { isStoreTrouble, WorkError } from "../errors.ts";
import { gateName } from "../item/document.ts";
import type { Settlement } from "../item/item.ts";
import { type Clock, systemClock } from "../kit/clock.ts";
import { Gate } from "./gate.ts";
import { LeaseTimes } from "./lease-times.ts";
import { Patience } from "./patience.ts";
import type { RunOptions, RunResult } from "./run-options.ts";
import type { Admitted } from "./shared-gate.ts";
import { type Ended, Slots } from "./slots.ts";
import { Teller } from "./teller.ts";
import { Tenure } from "./tenure.ts";
import { Wake } from "./wake.ts";

export type { Feed, RunObserver, RunOptions, RunResult, Waiting } from "./run-options.ts";

/** Works the queue until nothing is left, the policy stops it, or it is told to stop. */
export async function runQueue(options: RunOptions): Promise<RunResult> {
  return new Runner(options).run();
}

const GATHER_MS = 2;
const NOTHING: Admitted = { count: 0, ticket: 0, againAt: null };
/** Each try means that another worker wrote the gate; more than a few in a row are not met. */
const LAST_WORDS_MAX = 10;

class Runner {
  readonly #options: RunOptions;
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #gate: Gate;
  readonly #wake = new Wake();
  readonly #patience: Patience;
  readonly #teller: Teller;
  readonly #tenure: Tenure;
  readonly #slots: Slots;
  readonly #times: LeaseTimes;
  readonly #feedStop = new AbortController();
  #isOver = false;
  #isPaused = false;
  #stopGathering: (() => void) | undefined;
  #cancelAbandon: (() => void) | undefined;
  #feedDone: boolean;
  #fault: unknown = null;

  constructor(options: RunOptions) {
    const { engine, queue, clock = systemClock, random = Math.random, keepGoing = false } = options;
    const policy = () => this.#settings().policy;
    this.#options = options;
    this.#engine = engine;
    this.#clock = clock;
    this.#teller = new Teller(engine, queue);
    this.#patience = new Patience(options.storeWaitMs ?? 30_000, clock, {
      trouble: (error) => {
        this.#teller.trouble(error);
        options.observer?.trouble?.(error);
      },
      recovered: () => {
        options.observer?.recovered?.();
        this.#teller.recovered(this.#patience);
      },
      isEnding: () => this.#isEnding(),
    });
    this.#tenure = new Tenure({
      engine,
      queue,
      policy,
      random,
      clock,
      patience: this.#patience,
      ...(options.holderTtlMs !== undefined && { ttlMs: options.holderTtlMs }),
      ...(options.toxicAfter !== undefined && { toxicAfter: options.toxicAfter }),
      ...(options.groupRules && { groupRules: options.groupRules }),
      onReaped: () => this.#lookAgain(),
      onFault: (error) => {
        this.#fault ??= error;
      },
    });
    this.#gate = new Gate(policy(), { queue, author: this.#tenure.holderId, isTireless: keepGoing });
    this.#times = new LeaseTimes({
      clock,
      ...(options.ownRate && { ownRate: options.ownRate }),
      isWoken: keepGoing && engine.can.wakes,
    });
    this.#slots = new Slots({
      options,
      gate: this.#gate,
      random,
      policy,
      now: () => clock.now(),
      storeNow: () => this.#times.storeNow,
      onEnded: (settlement) => this.#onEnded(settlement),
    });
    this.#feedDone = options.feed === undefined;
  }

  async run(): Promise<RunResult> {
    const { stop, drain } = this.#options;
    const onStop = () => this.#stop();
    const onDrain = () => this.#wake.ring();
    stop.addEventListener("abort", onStop, { once: true });
    drain?.addEventListener("abort", onDrain, { once: true });
    const { background } = await this.#tenure.begin();
    const feeding = this.#takeIn();
    let endWatch: (() => Promise<void>) | undefined;
    try {
      endWatch = await this.#watch();
      if (stop.aborted) onStop();
      await this.#loop();
    } catch (error) {
      this.#fault ??= error;
    }
    stop.removeEventListener("abort", onStop);
    drain?.removeEventListener("abort", onDrain);
    this.#isOver = true;
    this.#tenure.over();
    this.#feedStop.abort();
    await Promise.all([this.#windDown(), background, feeding, endWatch?.().catch(() => undefined)]);
    if (this.#fault !== null) throw this.#fault;
    return this.#result();
  }

  /** Ends what runs; the loop settles it as it ends. */
  #stop(): void {
    const { abandonAfterMs } = this.#options;
    this.#tenure.stop();
    this.#feedStop.abort();
    if (abandonAfterMs !== undefined)
      this.#cancelAbandon ??= this.#clock.after(abandonAfterMs, () => this.#slots.abandon());
    this.#wake.ring();
  }

  /** One that is to end with its queue asks it anyway. */
  async #watch(): Promise<(() => Promise<void>) | undefined> {
    if (!this.#options.keepGoing || this.#isEnding()) return undefined;
    return this.#patience.through(() => this.#engine.watch(this.#options.queue, () => this.#lookAgain()));
  }

  /** Ends what still runs and says goodbye. After a fault the store gets one more chance to hear how it ended. */
  async #windDown(): Promise<void> {
    this.#stop();
    await this.#slots.allEnded();
    this.#cancelAbandon?.();
    try {
      await this.#sayLast();
      await this.#atEnd(() => this.#engine.leave(this.#tenure.holderId));
      await this.#teller.told();
    } catch (error) {
      this.#fault ??= error; // what is not settled stays leased, and is taken back as lost by the next runner
    }
  }

  /** After a fault each step is tried once; otherwise trouble with the store is waited out as before. */
  #atEnd<T>(step: () => Promise<T>): Promise<T> {
    return this.#fault === null ? this.#patience.through(step) : step();
  }

  async #sayLast(): Promise<void> {
    const { shared } = this.#gate;
    for (let tries = 0; tries < LAST_WORDS_MAX; tries += 1) {
      if (this.#slots.ended === 0 && !shared.hasNews) return;
      const settle = this.#slots.takeEnded().map((one) => one.settlement);
      const news = shared.hasNews ? { gate: shared.proposal() } : {};
      const { gate } = await this.#atEnd(() => this.#engine.exchange(null, { settle, ...news }));
      if (news.gate !== undefined) shared.answered(gate);
    }
  }

  async #loop(): Promise<void> {
    for (;;) {
      await this.#turn();
      await this.#options.observer?.ready?.();
      if (await this.#isFinished()) return;
      await this.#wake.wait(this.#idleMs(), this.#clock);
    }
  }

  /** Settle and lease in one durable step, then start what was leased. */
  async #turn(): Promise<void> {
    const admitted = (await this.#mayLease()) ? await this.#ask() : NOTHING;
    const { shared } = this.#gate;
    if (this.#slots.ended === 0 && admitted.count === 0 && !shared.hasNews) return;
    const { holderId, signal } = this.#tenure;
    const ended = this.#slots.takeEnded();
    const request = this.#requestOf(ended, admitted);
    const asked = this.#times.asked();
    const exchanged = await this.#exchange(holderId, request, ended);
    if (exchanged === null) return;
    this.#announce(ended, exchanged);
    const isThrough = request.gate === undefined || shared.answered(exchanged.gate);
    const { isProbe = false } = admitted;
    const { rate } = request.lease ?? {};
    this.#times.answered(asked, exchanged, { wanted: admitted.count, isThrough, isProbe, rate });
    const { leased } = exchanged;
    // Another worker may have written the gate first: then nothing is leased, unless it was by an answer that got lost.
    if (isThrough) this.#gate.unused(admitted.ticket, this.#times.storeNow, admitted.count - leased.length);
    if (admitted.count > 0) this.#tellPause(exchanged.isPaused);
    const mayStart = () => holderId === this.#tenure.holderId && this.#tenure.isConfirmed;
    for (const item of leased)
      this.#slots.start(item, { ticket: admitted.ticket, holderId, signal, mayStart });
  }

  #requestOf(ended: readonly Ended[], { count: max }: Admitted): Exchange {
    const { queue, operationId } = this.#options;
    const { rate } = this.#settings();
    const settle = ended.map((one) => one.settlement);
    const { shared } = this.#gate;
    if (max === 0) return { settle, ...(shared.hasNews && { gate: shared.proposal() }) };
    const lease = {
      queue,
      max,
      ...(operationId !== undefined && { operationId }),
      ...(rate !== undefined && { rate }),
    };
    return { settle, lease, gate: shared.proposal() };
  }

  /**
   * What could not be written is kept and written later; nothing that ended is forgotten. Null when the leases were
   * lost: nothing was written, and the runner is a new holder now.
   */
  async #exchange(holderId: string, request: Exchange, ended: readonly Ended[]): Promise<Exchanged | null> {
    try {
      return await this.#patience.through(() => this.#engine.exchange(holderId, request));
    } catch (error) {
      this.#gate.shared.withdraw();
      this.#slots.putBack(ended);
      if (error instanceof WorkError && error.code === "lease_lost") await this.#tenure.renew();
      else if (isStoreTrouble(error) || ended.length === 0) throw error;
      else await this.#settleOneByOne(error);
      return null;
    }
  }

  /** One of them cannot be written: it is given back as a fault of ours, and holds up none of the others. */
  async #settleOneByOne(fault: unknown): Promise<void> {
    for (const one of this.#slots.takeEnded()) {
      const { lease, notes } = one.settlement;
      const write = (settlement: Settlement) =>
        this.#patience.through(() => this.#engine.exchange(null, { settle: [settlement] }));
      try {
        this.#announce([one], await write(one.settlement));
      } catch (error) {
        if (isStoreTrouble(error)) throw error;
        const why = `its end could not be written: ${String(error)}`;
        const given = { lease, outcome: "released", verdict: { kind: "release" }, fault: why } as const;
        await write({ ...given, ...(notes && { notes }) }).catch(() => {
          throw fault;
        });
      }
    }
  }

  #announce(ended: readonly Ended[], { stale }: Exchanged): void {
    const settled = this.#options.observer?.settled;
    if (settled === undefined) return;
    const staleRefs = new Set(stale.map((lease) => `${lease.ref}/${lease.attempt}`));
    for (const { item, outcome, settlement } of ended) {
      if (staleRefs.size > 0 && staleRefs.has(`${item.ref}/${item.attempt}`)) continue;
      this.#options.observer?.settled?.(item, settlement, outcome);
    }
  }

  #tellPause(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    this.#options.observer?.paused?.(isPaused);
  }

  #onEnded({ verdict }: Settlement): void {
    this.#times.ended();
    if (verdict.kind === "retry") this.#times.dueIn(verdict.delayMs);
    this.#ringSoon();
  }

  /** Group commit: while more run than have ended, a moment's wait lets one durable step settle several. */
  #ringSoon(): void {
    if (this.#slots.ended < this.#slots.running && !this.#isEnding()) {
      this.#stopGathering ??= this.#clock.after(GATHER_MS, () => this.#ringNow());
    } else {
      this.#ringNow();
    }
  }

  #ringNow(): void {
    this.#stopGathering?.();
    this.#stopGathering = undefined;
    this.#wake.ring();
  }

  /** What is settled anyway may free a lane or a place: then asking for more costs no step of its own. */
  async #mayLease(): Promise<boolean> {
    const isTime = this.#times.leaseInMs === 0 || this.#slots.ended > 0;
    if (this.#slots.free === 0 || !isTime || this.#isEnding()) return false;
    // What is leased under an old heartbeat could not be started.
    if (!this.#tenure.isConfirmed) await this.#patience.through(() => this.#tenure.confirm());
    return !this.#isEnding();
  }

  async #ask(): Promise<Admitted> {
    this.#gate.obey(this.#settings().policy);
    const wanted = this.#times.allowed(this.#slots.free);
    if (wanted === 0) return NOTHING;
    const admitted = this.#gate.ask(wanted, this.#times.storeNow);
    if (admitted.count > 0) return admitted;
    return this.#times.leaseInMs === 0 ? this.#askAnew(wanted) : admitted;
  }

  /** Others may have opened the gate since; if not, it is looked at again in a while. */
  async #askAnew(wanted: number): Promise<Admitted> {
    const name = gateName(this.#options.queue);
    this.#gate.shared.look(await this.#patience.through(() => this.#engine.readDocument(name)));
    if (this.#isEnding()) return NOTHING;
    const admitted = this.#gate.ask(wanted, this.#times.storeNow);
    if (admitted.count === 0) this.#times.againAt(admitted.againAt);
    return admitted;
  }

  #idleMs(): number {
    if (this.#slots.ended > 0 || this.#gate.shared.hasNews) return 0;
    return this.#slots.free === 0 ? this.#times.pollMs : this.#times.leaseInMs;
  }

  #isEnding(): boolean {
    const { stop, drain } = this.#options;
    return (
      stop.aborted || (drain?.aborted ?? false) || this.#gate.stopReason !== null || this.#fault !== null
    );
  }

  async #isFinished(): Promise<boolean> {
    if (this.#slots.running > 0 || this.#slots.ended > 0 || this.#gate.shared.hasNews) return false;
    if (this.#isEnding()) return true;
    if (this.#options.keepGoing || !this.#feedDone || this.#times.leaseInMs === 0) return false;
    return this.#patience.through(() => this.#isNothingLeft());
  }

  /** Other runners of the same queue may still be at work; if one dies, its items come back to us. */
  async #isNothingLeft(): Promise<boolean> {
    const { operationId, queue } = this.#options;
    if (operationId !== undefined)
      return (await this.#engine.closeOperation(operationId)).endedAt !== undefined;
    const counts = await this.#engine.count(queue);
    const { nextDueAt, storeNow } = this.#times;
    if (counts.ready > 0 && counts.leased === 0 && nextDueAt !== null)
      this.#options.observer?.waiting?.({ items: counts.ready, nextDueAt, now: storeNow });
    return counts.ready === 0 && counts.leased === 0;
  }

  #result(): RunResult {
    const reason = this.#gate.stopReason;
    const { stop, drain } = this.#options;
    if (stop.aborted || (drain?.aborted && reason === null)) return { end: "interrupted" };
    return reason === null ? { end: "finished" } : { end: "stopped", reason };
  }

  async #takeIn(): Promise<void> {
    try {
      for await (const brought of this.#options.feed?.(this.#patience, this.#feedStop.signal) ?? []) {
        this.#options.observer?.added?.(brought);
        this.#lookAgain();
        await new Promise((resolve) => setImmediate(resolve)); // attempts that ended meanwhile come first
        if (this.#isEnding() || this.#isOver) return;
      }
      this.#feedDone = true;
    } catch (error) {
      this.#fault ??= error;
    }
    this.#lookAgain();
  }

  /** There may be something to lease that was not there before. */
  #lookAgain(): void {
    this.#times.now();
    this.#wake.ring();
  }

  #settings(): Pick<RunOptions, "policy" | "rate"> {
    return this.#options.settings?.() ?? this.#options;
  }
}
