/** The main loop for all kinds of queues: each turn settles ended attempts and leases due items in one durable step. */
import type { Engine, SettleAndLease, SettleAndLeaseResult } from "../engine.ts";
import { isStoreTrouble, RedriveError } from "../errors.ts";
import type { Settlement } from "../item/item.ts";
import { gateName } from "../item/store-queries.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { compact } from "../std/json.ts";
import { type Admitted, DispatchGate } from "./dispatch-gate.ts";
import { LeaseHolder } from "./lease-holder.ts";
import { PollSchedule, WakeSignal } from "./poll-schedule.ts";
import { ReadAhead } from "./read-ahead.ts";
import type { RunOptions, RunResult } from "./run-options.ts";
import { type Ended, Slots } from "./slots.ts";
import { OutageLog, STORE_WAIT_MS, StoreRetry } from "./store-retry.ts";

/** Processes the queue until nothing is left, the policy stops it, or a signal is aborted. */
export async function runQueue(options: RunOptions): Promise<RunResult> {
  return new Runner(options).run();
}

const GATHER_MS = 2;
/** With commands leased ahead, the slots stay busy for longer. */
const GATHER_AHEAD_MS = 20;
const NOTHING: Admitted = { count: 0, ticket: 0, retryAt: null };
/** Limits retries of the final write. Each retry means that another worker has written the breaker in between. */
const FINAL_WRITES_MAX = 10;

class Runner {
  readonly #options: RunOptions;
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #gate: DispatchGate;
  readonly #wake = new WakeSignal();
  readonly #storeRetry: StoreRetry;
  readonly #outageLog: OutageLog;
  readonly #holder: LeaseHolder;
  readonly #slots: Slots;
  readonly #schedule: PollSchedule;
  readonly #readAhead: ReadAhead;
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
    this.#readAhead = new ReadAhead({
      clock,
      run: options,
      settings: () => this.#settings(),
      waitingSince: () => this.#slots.waitingSince,
    });
    this.#outageLog = new OutageLog(engine, queue);
    this.#storeRetry = new StoreRetry(options.storeWaitMs ?? STORE_WAIT_MS, clock, {
      trouble: (error) => {
        this.#outageLog.failed(error);
        options.observer?.trouble?.(error);
      },
      recovered: () => {
        options.observer?.recovered?.();
        this.#outageLog.recovered(this.#storeRetry);
      },
      isEnding: () => this.#isEnding(),
    });
    const storeRetry = this.#storeRetry;
    const onReaped = () => this.#pollNow();
    const onFault = (error: unknown) => {
      this.#fault ??= error;
    };
    this.#holder = new LeaseHolder({ run: options, policy, random, clock, storeRetry, onReaped, onFault });
    const { holderId } = this.#holder;
    this.#gate = new DispatchGate(policy(), { queue, author: holderId, ignoresFaults: keepGoing });
    const isNotified = keepGoing && engine.can.wakes;
    this.#schedule = new PollSchedule({ clock, ownRate: options.ownRate, isNotified });
    const now = () => clock.now();
    const storeNow = () => this.#schedule.storeNow;
    const onEnded = (settlement: Settlement) => this.#onEnded(settlement);
    const onFreed = () => this.#pollNow();
    this.#slots = new Slots({ options, gate: this.#gate, random, policy, now, storeNow, onEnded, onFreed });
    this.#feedDone = options.feed === undefined;
  }

  async run(): Promise<RunResult> {
    const { stop, drain } = this.#options;
    const onStop = () => this.#stop();
    const onDrain = () => {
      this.#readAhead.recall();
      this.#wake.notify();
    };
    stop.addEventListener("abort", onStop, { once: true });
    const endControl = this.#options.control?.listen(() => this.#slots.endRequested());
    drain?.addEventListener("abort", onDrain, { once: true });
    const endClockWatch = this.#engine.watchClock((stepMs) => this.#onClockStep(stepMs));
    const { background } = await this.#holder.begin();
    const feeding = this.#runFeed();
    let endWatch: (() => Promise<void>) | undefined;
    try {
      endWatch = await this.#watch();
      if (stop.aborted) onStop();
      await this.#loop();
    } catch (error) {
      this.#fault ??= error;
    }
    stop.removeEventListener("abort", onStop);
    endControl?.();
    drain?.removeEventListener("abort", onDrain);
    this.#isOver = true;
    this.#holder.end();
    this.#feedStop.abort();
    await Promise.all([this.#windDown(), background, feeding, endWatch?.().catch(() => undefined)]);
    endClockWatch();
    if (this.#fault !== null) throw this.#fault;
    return this.#result();
  }

  #onClockStep(stepMs: number): void {
    this.#gate.clockStepped(stepMs);
    this.#options.observer?.clockStepped?.(stepMs);
    this.#pollNow();
  }

  /** Aborts running attempts; the loop settles them as they end. */
  #stop(): void {
    const { abandonAfterMs } = this.#options;
    this.#holder.stop();
    this.#feedStop.abort();
    if (abandonAfterMs !== undefined)
      this.#cancelAbandon ??= this.#clock.after(abandonAfterMs, () => this.#slots.abandon());
    this.#wake.notify();
  }

  /** Only runners with `keepGoing` need notifications; the others poll. */
  async #watch(): Promise<(() => Promise<void>) | undefined> {
    if (!this.#options.keepGoing || this.#isEnding()) return undefined;
    return this.#storeRetry.run(() => this.#engine.watch(this.#options.queue, () => this.#pollNow()));
  }

  /** Ends and settles running attempts, then unregisters. After a fault, each write is tried only once. */
  async #windDown(): Promise<void> {
    this.#stop();
    await this.#slots.allEnded();
    this.#cancelAbandon?.();
    this.#readAhead.end();
    try {
      await this.#settleRest();
      await this.#atEnd(() => this.#holder.unregister());
      await this.#outageLog.flush();
    } catch (error) {
      this.#fault ??= error; // unsettled items stay leased until the next runner reaps them
    }
  }

  #atEnd<T>(step: () => Promise<T>): Promise<T> {
    return this.#fault === null ? this.#storeRetry.run(step) : step();
  }

  async #settleRest(): Promise<void> {
    const { shared } = this.#gate;
    for (let tries = 0; tries < FINAL_WRITES_MAX; tries += 1) {
      if (this.#slots.ended === 0 && !shared.hasChanges) return;
      this.#options.beforeSettle?.();
      const settle = this.#slots.takeEnded().map((one) => one.settlement);
      const news = shared.hasChanges ? { gate: shared.proposal() } : {};
      const { gate } = await this.#atEnd(() => this.#engine.settleAndLease(null, { settle, ...news }));
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

  /** Settles and leases in one durable step, then starts the leased items. */
  async #turn(): Promise<void> {
    this.#slots.leaseAhead(this.#holder.hasStartMarks ? this.#readAhead.depth() : 0);
    const admitted = (await this.#mayLease()) ? await this.#admit() : NOTHING;
    const { shared } = this.#gate;
    if (this.#slots.ended === 0 && admitted.count === 0 && !shared.hasChanges) return;
    const { holderId, signal } = this.#holder;
    const ended = this.#slots.takeEnded();
    const request = this.#requestOf(ended, admitted);
    const begun = this.#schedule.beginRequest();
    const answer = await this.#settleAndLease(holderId, request, ended);
    if (answer === null) return;
    this.#reportSettled(ended, answer);
    const isCurrent = request.gate === undefined || shared.answered(answer.gate);
    const { isProbe = false } = admitted;
    const { rate } = request.lease ?? {};
    this.#schedule.answered(begun, answer, { wanted: admitted.count, isCurrent, isProbe, rate });
    const { leased } = answer;
    // If another worker has written the breaker first, nothing was leased, unless the answer to an earlier try was lost.
    if (isCurrent)
      this.#gate.returnTickets(admitted.ticket, this.#schedule.storeNow, admitted.count - leased.length);
    if (admitted.count > 0) this.#reportPause(answer.isPaused);
    const mayStart = () => holderId === this.#holder.holderId && this.#holder.isConfirmed;
    const startWithinMs = this.#holder.hasStartMarks ? this.#holder.startableMs : undefined;
    const { ticket } = admitted;
    for (const item of leased) this.#slots.start(item, { ticket, holderId, signal, mayStart, startWithinMs });
    this.#readAhead.limitWaits();
    await this.#holder.releaseUnstarted(holderId, this.#slots);
  }

  #requestOf(ended: readonly Ended[], { count: max }: Admitted): SettleAndLease {
    const { queue, operationId } = this.#options;
    const { rate } = this.#settings();
    const settle = ended.map((one) => one.settlement);
    const { shared } = this.#gate;
    if (max === 0) return { settle, ...(shared.hasChanges && { gate: shared.proposal() }) };
    return { settle, lease: compact({ queue, max, operationId, rate }), gate: shared.proposal() };
  }

  /** Keeps attempts that could not be written for later. Returns null when the leases were lost and the holder was renewed. */
  async #settleAndLease(
    holderId: string,
    request: SettleAndLease,
    ended: readonly Ended[],
  ): Promise<SettleAndLeaseResult | null> {
    if (ended.length > 0) this.#options.beforeSettle?.();
    try {
      const step = () => this.#holder.step(() => this.#engine.settleAndLease(holderId, request));
      return await this.#storeRetry.run(step);
    } catch (error) {
      this.#gate.shared.withdraw();
      this.#slots.putBack(ended);
      if (error instanceof RedriveError && error.code === "lease_lost") await this.#holder.renew();
      else if (isStoreTrouble(error) || ended.length === 0) throw error;
      else await this.#settleOneByOne(error);
      await this.#holder.releaseUnstarted(holderId, this.#slots);
      return null;
    }
  }

  /** Writes the settlements one by one. One that cannot be written is released, so that it does not block the others. */
  async #settleOneByOne(fault: unknown): Promise<void> {
    for (const one of this.#slots.takeEnded()) {
      const { lease, notes } = one.settlement;
      const write = (settlement: Settlement) =>
        this.#storeRetry.run(() => this.#engine.settleAndLease(null, { settle: [settlement] }));
      try {
        this.#reportSettled([one], await write(one.settlement));
      } catch (error) {
        if (isStoreTrouble(error)) throw error;
        const why = `its result could not be written: ${String(error)}`;
        const released = { lease, outcome: "released", verdict: { kind: "release" }, fault: why } as const;
        await write({ ...released, ...(notes && { notes }) }).catch(() => {
          throw fault;
        });
      }
    }
  }

  #reportSettled(ended: readonly Ended[], { stale }: SettleAndLeaseResult): void {
    const { observer } = this.#options;
    if (observer?.settled === undefined) return;
    const staleRefs = new Set(stale.map((lease) => `${lease.ref}/${lease.attempt}`));
    for (const { item, outcome, settlement } of ended) {
      if (staleRefs.size === 0 || !staleRefs.has(`${item.ref}/${item.attempt}`))
        observer.settled(item, settlement, outcome);
    }
  }

  #reportPause(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    this.#options.observer?.paused?.(isPaused);
  }

  #onEnded({ verdict }: Settlement): void {
    this.#schedule.attemptEnded();
    this.#readAhead.attemptEnded();
    if (verdict.kind === "park" || this.#gate.stopReason !== null) this.#readAhead.recall();
    if (verdict.kind === "retry") this.#schedule.dueIn(verdict.delayMs);
    this.#wakeSoon();
  }

  /** Group commit: while more attempts run than have ended, a short wait lets one durable step settle several. */
  #wakeSoon(): void {
    const { ended, running, ahead } = this.#slots;
    const waiting = Math.max(0, running - this.#options.slots);
    const isShort = ahead > 0 && waiting === 0 && this.#schedule.leaseInMs === 0;
    const gatherMs = waiting > 0 ? GATHER_AHEAD_MS : GATHER_MS;
    if (ended >= running || isShort || this.#isEnding()) this.#wakeNow();
    else this.#stopGathering ??= this.#clock.after(gatherMs, () => this.#wakeNow());
  }

  #wakeNow(): void {
    this.#stopGathering?.();
    this.#stopGathering = undefined;
    this.#wake.notify();
  }

  /** Leasing together with a settlement needs no extra step, so it is done whenever something is settled. */
  async #mayLease(): Promise<boolean> {
    const isTime = this.#schedule.leaseInMs === 0 || this.#slots.ended > 0;
    if (this.#slots.free === 0 || !isTime || this.#isEnding()) return false;
    // If there was no recent heartbeat, leased items could not be started.
    if (!this.#holder.isConfirmed) await this.#storeRetry.run(() => this.#holder.confirm());
    return !this.#isEnding();
  }

  async #admit(): Promise<Admitted> {
    this.#gate.setPolicy(this.#settings().policy);
    const wanted = this.#schedule.allowed(this.#slots.free);
    if (wanted === 0) return NOTHING;
    const admitted = this.#gate.admit(wanted, this.#schedule.storeNow);
    if (admitted.count > 0) return admitted;
    return this.#schedule.leaseInMs === 0 ? this.#admitAfterReload(wanted) : admitted;
  }

  /** Reads the breaker again, because another worker may have closed it. */
  async #admitAfterReload(wanted: number): Promise<Admitted> {
    const name = gateName(this.#options.queue);
    this.#gate.shared.load(await this.#storeRetry.run(() => this.#engine.readDocument(name)));
    if (this.#isEnding()) return NOTHING;
    const admitted = this.#gate.admit(wanted, this.#schedule.storeNow);
    if (admitted.count === 0) this.#schedule.retryAt(admitted.retryAt);
    return admitted;
  }

  #idleMs(): number {
    if (this.#slots.ended > 0 || this.#gate.shared.hasChanges) return 0;
    return this.#slots.free === 0 ? this.#schedule.pollMs : this.#schedule.leaseInMs;
  }

  #isEnding(): boolean {
    const { stop, drain } = this.#options;
    return stop.aborted || (drain?.aborted ?? false) || this.#stopReason !== null || this.#fault !== null;
  }

  async #isFinished(): Promise<boolean> {
    if (this.#slots.running > 0 || this.#slots.ended > 0 || this.#gate.shared.hasChanges) return false;
    if (this.#isEnding()) return true;
    if (this.#options.keepGoing || !this.#feedDone || this.#schedule.leaseInMs === 0) return false;
    return this.#storeRetry.run(() => this.#isNothingLeft());
  }

  /** Whether no work is left. Items of other runners count as work, because this runner takes them over if such a runner dies. */
  async #isNothingLeft(): Promise<boolean> {
    const { operationId, queue } = this.#options;
    if (operationId !== undefined)
      return (await this.#engine.closeOperation(operationId)).endedAt !== undefined;
    const counts = await this.#engine.count(queue);
    const { nextDueAt, storeNow } = this.#schedule;
    if (counts.ready > 0 && counts.leased === 0 && nextDueAt !== null)
      this.#options.observer?.waiting?.({ items: counts.ready, nextDueAt, now: storeNow });
    return counts.ready === 0 && counts.leased === 0;
  }

  get #stopReason(): string | null {
    return this.#gate.stopReason ?? this.#options.stopReason?.() ?? null;
  }

  #result(): RunResult {
    const reason = this.#stopReason;
    const { stop, drain } = this.#options;
    if (stop.aborted || (drain?.aborted && reason === null)) return { end: "interrupted" };
    return reason === null ? { end: "finished" } : { end: "stopped", reason };
  }

  async #runFeed(): Promise<void> {
    try {
      for await (const added of this.#options.feed?.(this.#storeRetry, this.#feedStop.signal) ?? []) {
        this.#options.observer?.added?.(added);
        this.#pollNow();
        await new Promise((resolve) => setImmediate(resolve)); // attempts that have ended in the meantime are settled first
        if (this.#isEnding() || this.#isOver) return;
      }
      this.#feedDone = true;
    } catch (error) {
      this.#fault ??= error;
    }
    this.#pollNow();
  }

  #pollNow(): void {
    this.#schedule.pollNow();
    this.#wake.notify();
  }

  #settings(): Pick<RunOptions, "policy" | "rate"> {
    return this.#options.settings?.() ?? this.#options;
  }
}
