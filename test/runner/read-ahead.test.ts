/** Items that are leased before a slot is free, so that commands can wait in the launcher. */
import { mkdirSync } from "node:fs";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { AttemptContext, Handler } from "../../src/attempt/handler.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import type { LeasedItem } from "../../src/item/item.ts";
import type { Outcome } from "../../src/item/settlement.ts";
import { DEFAULT_BREAKER } from "../../src/retry/policy.ts";
import { allowsReadAhead, ReadAhead } from "../../src/runner/read-ahead.ts";
import type { CommandQueue, RunOptions } from "../../src/runner/run-options.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { TestClock } from "../support/test-clock.ts";
import { policyOf, RunKit, succeed } from "./run-kit.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const SLOTS = 4;

describe("reading ahead", () => {
  let kit: RunKit;
  let commands: Commands;
  const make = async (items: number) => {
    kit = await RunKit.open(async (clock) => openMemoryEngine({ clock }), directory, ...ids(items));
    commands = new Commands(kit);
  };
  const folder = directory.file("marks");
  mkdirSync(folder, { recursive: true });
  const run = (options: Partial<RunOptions> = {}) =>
    kit.run(commands.handler, {
      slots: SLOTS,
      commandQueue: commands,
      startMarksFolder: folder,
      ...options,
    });
  afterEach(() => kit.close());

  it("short commands wait for a slot, and never more run than there are slots", async () => {
    await make(400);
    const started: string[] = [];
    const observer = { started: ({ itemId }: LeasedItem) => void started.push(itemId) };
    expect(await kit.end(run({ observer }))).toEqual({ end: "finished" });
    expect(commands.mostWaiting).toBeGreaterThan(0);
    expect(commands.mostRunning).toBe(SLOTS);
    expect(await kit.counts()).toEqual({ done: 400, attempts: 400 });
    expect(started).toEqual(commands.started);
    expect(new Set(commands.started).size).toBe(400);
  });

  it("each waiting command has its own mark until it is settled", async () => {
    await make(400);
    await kit.end(run());
    expect(commands.sharedMarks).toEqual([]);
  });

  it.each([
    ["a limit of failures", { policy: policyOf({ maxFailures: 3 }) }],
    ["a rate", { rate: { perSecond: 1000 } }],
    ["no launcher in which commands can wait", { commandQueue: undefined }],
    ["no folder for the marks", { startMarksFolder: undefined }],
    ["a folder that does not exist", { startMarksFolder: "/nowhere/at/all" }],
  ])("nothing waits with %s", async (_, options) => {
    await make(100);
    expect(await kit.end(run(options))).toEqual({ end: "finished" });
    expect(commands.mostWaiting).toBe(0);
    expect(commands.mostRunning).toBeLessThanOrEqual(SLOTS);
  });

  it("a command that waits behind long ones is released, and its item counts no attempt", async () => {
    await make(400);
    const ended = run();
    await kit.until(() => commands.waiting > 0 && commands.started.length > 100);
    commands.isHeld = true;
    await kit.until(() => commands.waiting === 0);
    await kit.pass(100);
    const counts = await kit.counts();
    expect(counts.leased).toBe(SLOTS);
    const recalled = commands.recalled[0] ?? "";
    expect(await kit.outcomes(recalled)).toEqual(["released"]);
    expect(await kit.item(recalled)).toMatchObject({ attemptsCounted: 0, lostCount: 0, state: "ready" });
    commands.isHeld = false;
    expect(await kit.end(ended)).toEqual({ end: "finished" });
    expect(await kit.counts()).toMatchObject({ done: 400 });
  });

  it("a drain finishes what runs and releases what waits", async () => {
    await make(400);
    const drain = new AbortController();
    const draining = run({ drain: drain.signal });
    await kit.until(() => commands.waiting > 0);
    commands.isHeld = true;
    drain.abort();
    const startedBefore = commands.started.length;
    expect(commands.waiting).toBe(0);
    commands.isHeld = false;
    expect(await kit.end(draining)).toEqual({ end: "interrupted" });
    expect(commands.started.length).toBe(startedBefore);
    expect(await kit.counts()).toMatchObject({ done: startedBefore, ready: 400 - startedBefore });
  });

  it("as many are leased ahead as end in 50 ms, and none after a pause", async () => {
    await make(0);
    const clock = new TestClock();
    const settings = () => ({ policy: policyOf() });
    const readAhead = new ReadAhead({ clock, run: {}, settings, waitingSince: () => null });
    expect(readAhead.depth()).toBe(0);
    for (let turn = 0; turn < 50; turn += 1) {
      for (let n = 0; n < 8; n += 1) readAhead.attemptEnded();
      clock.advance(8);
      readAhead.depth();
    }
    expect(readAhead.depth()).toBe(49);
    clock.advance(101);
    expect(readAhead.depth()).toBe(0);
  });

  it("there is none with a policy that may stop or pause the queue", async () => {
    await make(0);
    expect(allowsReadAhead(policyOf())).toBe(true);
    const changes = [
      { breaker: DEFAULT_BREAKER },
      { maxFailures: 1 },
      { failureThreshold: 0.1 },
      { continueOnFailure: false },
      { onItemFailure: "stop" as const },
      { onOutage: "wait" as const },
    ];
    for (const change of changes) expect(allowsReadAhead(policyOf(change))).toBe(false);
  });
});

/** Stands for the launcher: each command takes 5 ms of the test's clock, or waits while it is held. */
class Commands implements CommandQueue {
  readonly started: string[] = [];
  readonly recalled: string[] = [];
  readonly sharedMarks: number[] = [];
  isHeld = false;
  mostWaiting = 0;
  mostRunning = 0;
  readonly #kit: RunKit;
  readonly #marks = new Set<number>();
  #running = 0;
  #waiting: { readonly item: LeasedItem; start(): void; recall(): void }[] = [];

  constructor(kit: RunKit) {
    this.#kit = kit;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  setMarksFile = () => undefined;

  recall = (): void => {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) one.recall();
    this.recalled.push(...waiting.map(({ item }) => item.itemId));
  };

  readonly handler: Handler = (item, context) =>
    new Promise((resolve) => {
      const mark = context.queued?.mark;
      if (mark !== undefined && this.#marks.has(mark)) this.sharedMarks.push(mark);
      if (mark !== undefined) this.#marks.add(mark);
      const end = (outcome: Outcome) => {
        if (mark !== undefined) this.#marks.delete(mark);
        resolve(outcome);
      };
      const start = () => this.#start(item, context, end);
      const recall = () => end({ kind: "released", why: "recalled", isRecalled: true });
      if (context.queued === undefined || this.#running < context.queued.limit) start();
      else this.#waiting.push({ item, start, recall });
      this.mostWaiting = Math.max(this.mostWaiting, this.#waiting.length);
    });

  #start(item: LeasedItem, context: AttemptContext, end: (outcome: Outcome) => void): void {
    this.started.push(item.itemId);
    this.#running += 1;
    this.mostRunning = Math.max(this.mostRunning, this.#running);
    context.queued?.onStarted();
    this.#work(async () => {
      this.#running -= 1;
      this.#waiting.shift()?.start();
      end(await succeed());
    });
  }

  #work(done: () => void): void {
    this.#kit.clock.after(5, () => (this.isHeld ? this.#work(done) : done()));
  }
}

function ids(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `item-${n}`);
}
