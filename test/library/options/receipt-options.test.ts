/** The options of targets of receipts and of `send`. */
import { existsSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeEach, expect, it } from "vitest";
import type { SendOptions } from "../../../src/delivery/target.ts";
import { openTest, TestClock, type TestStore } from "../../../src/exports/testing.ts";
import { RedriveError } from "../../../src/index.ts";
import type { ReceiptOptions } from "../../../src/library/receipt-options.ts";
import { McpServer } from "../../delivery/mcp-server.ts";
import { ReceiptServer } from "../../delivery/receipt-server.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";
import { describeOptions, NOT, type OptionCase } from "./option-cases.ts";

const RECEIPT = { task_id: "task-456", status: "complete" };
const directory = new TemporaryDirectory();
let server: ReceiptServer;
beforeEach(async () => {
  server = await ReceiptServer.open();
});
afterEach(() => server.close());
afterAll(() => directory.remove());

const target = ({ redrive }: TestStore, options: ReceiptOptions) => redrive.receipts("t", options);

/** A function that fails with these errors in turn, the last one again and again; null means success. */
function failing(test: TestStore, ...errors: readonly (object | null)[]) {
  const start = test.clock.now();
  const seconds: number[] = [];
  const deliver = () => {
    const error = errors[Math.min(seconds.push((test.clock.now() - start) / 1000), errors.length) - 1];
    if (error) throw Object.assign(new Error("not delivered"), error);
  };
  return { seconds, deliver };
}

const LIMIT = { status: 503 };
const BROKEN = { status: 500 };

/** Moves the clock second by second until the promise is settled. */
async function inTime<T>({ clock }: TestStore, promise: Promise<T>): Promise<T> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  promise.then(over, over);
  for (let second = 0; !isOver && second < 20_000; second += 1) {
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    if (!isOver) clock.advance(1000);
  }
  return promise;
}

/** Sends one receipt to the server, with these options, and returns the request. */
async function posted(test: TestStore, options: ReceiptOptions) {
  const opened = target(test, { url: server.url, ...options });
  expect(await opened.send(RECEIPT, { key: "k" })).toBe(true);
  const [entry] = server.ledger;
  if (entry === undefined) throw new Error("nothing was sent");
  return entry;
}

async function tooSlow(test: TestStore, options: ReceiptOptions) {
  const deliver = () => new Promise(() => undefined);
  expect(await target(test, { deliver, retries: 0, ...options }).send(RECEIPT)).toBe(false);
  const letter = await test.redrive.letters({ queue: "t" }).first();
  expect(letter?.failures.at(-1)?.message).toMatch(/longer than/);
}

async function endedOutage(test: TestStore, options: ReceiptOptions) {
  const { seconds, deliver } = failing(test, LIMIT);
  const opened = target(test, { deliver, retries: 0, onOutage: "wait", ...options });
  expect(await inTime(test, opened.send(RECEIPT))).toBe(false);
  expect(seconds.at(-1)).toBeGreaterThanOrEqual(100);
}

async function leasedFor90s(test: TestStore, options: ReceiptOptions) {
  await target(test, { deliver: () => undefined, ...options }).send(RECEIPT);
  expect(await test.redrive.engine.listHolders()).toMatchObject([{ ttlMs: 90_000 }]);
}

async function deadAfterOneLoss(test: TestStore, options: ReceiptOptions) {
  const { redrive, clock } = test;
  const storing = target(test, { deliver: () => undefined, isDelivering: false, ...options });
  const { delivered } = await storing.send(RECEIPT, { wait: false });
  const holder = { id: "gone", queue: "t", host: "other", pid: 1, processStart: "then", ttlMs: 8000 };
  await redrive.engine.registerHolder(holder);
  await redrive.engine.settleAndLease("gone", { settle: [], lease: { queue: "t", max: 1 } });
  clock.advance("8s");
  await storing.close();
  const { seconds, deliver } = failing(test, null);
  const opened = target(test, { deliver });
  expect(await inTime(test, opened.send(RECEIPT))).toBe(false);
  expect(seconds).toEqual([]);
  await delivered(AbortSignal.abort()).catch(() => undefined);
}

async function oneByOne(test: TestStore, options: SendOptions & { readonly wait?: true }) {
  const running = overlaps();
  const opened = target(test, { deliver: running.deliver });
  await Promise.all([1, 2, 3].map((n) => opened.send({ n }, options)));
  expect(running.most()).toBe(1);
}

it("drain takes a duration", async () => {
  await using test = await openTest();
  const opened = target(test, { deliver: () => undefined });
  await expect(opened.drain("5")).rejects.toMatchObject({ code: "usage", field: "within" });
  expect(await opened.drain("5s")).toEqual({ left: 0 });
});

const textOf = (case_: Omit<OptionCase, "refuses">, ...refuses: readonly unknown[]): OptionCase => ({
  refuses: [7, {}, ...refuses],
  ...case_,
});

describeOptions<ReceiptOptions>("redrive.receipts", {
  call: async (redrive, given) => {
    const opened = redrive.receipts("t", given);
    await opened.opened;
    await opened.close();
  },
  base: { deliver: () => undefined },
  options: {
    protocol: {
      refuses: ["smtp", 7, null],
      effect: async (test) => {
        const opened = target(test, { protocol: "function", url: server.url, deliver: () => undefined });
        expect(await opened.send(RECEIPT)).toBe(true);
        expect(server.ledger).toEqual([]);
      },
    },
    url: textOf(
      { effect: async (test) => expect(await posted(test, {})).toMatchObject({ path: "/complete" }) },
      "ftp://host/x",
      "http://me:secret@host/",
    ),
    headers: {
      refuses: ["x", { Authorization: "secret" }, { "X-A": 7 }, { "a b": "c" }],
      effect: async (test) => {
        const { headers } = await posted(test, { headers: { "X-Team": "billing" } });
        expect(headers["x-team"]).toBe("billing");
      },
    },
    token: {
      refuses: ["secret", { env: "" }, { value: "secret" }, { env: "A", file: "b" }],
      effect: async (test) => {
        const file = directory.file("token");
        writeFileSync(file, "from-file\n");
        const { headers } = await posted(test, { token: { file } });
        expect(headers.authorization).toBe("Bearer from-file");
      },
    },
    env: {
      refuses: [7, "x", null],
      effect: async (test) => {
        const { headers } = await posted(test, { token: { env: "T" }, env: { T: "from-env" } });
        expect(headers.authorization).toBe("Bearer from-env");
      },
    },
    tool: {
      refuses: [...NOT.text],
      effect: (test) =>
        withMcp(async ({ url, calls }) => {
          expect(await target(test, { protocol: "mcp", url, tool: "finish" }).send(RECEIPT)).toBe(true);
          expect(calls()).toMatchObject([{ name: "finish" }]);
        }),
    },
    keyArgument: textOf({
      effect: (test) =>
        withMcp(async ({ url, calls }) => {
          const opened = target(test, { protocol: "mcp", url, keyArgument: "receipt_id" });
          expect(await opened.send(RECEIPT, { key: "k" })).toBe(true);
          expect(calls()).toMatchObject([{ arguments: { receipt_id: "k" } }]);
        }),
    }),
    timeout: { refuses: [0, "20", Number.NaN, null], effect: (test) => tooSlow(test, { timeout: "20ms" }) },
    timeoutMs: {
      refuses: [0, "1s", Number.NaN, null],
      effect: async (test) => {
        await tooSlow(test, { timeoutMs: 20 });
        expect(() => test.redrive.receipts("other", { timeoutMs: 20, timeout: 20 })).toThrow(
          expect.objectContaining({ code: "usage", field: "timeout" }),
        );
      },
    },
    answerBytesMax: {
      refuses: [0, 1.5, "1", null],
      effect: async (test) => {
        server.otherwise = { status: 200, body: { text: "a long answer" } };
        const opened = target(test, { url: server.url, answerBytesMax: 5, retries: 0 });
        expect(await opened.send(RECEIPT)).toBe(false);
      },
    },
    idHeader: textOf(
      {
        effect: async (test) =>
          expect((await posted(test, { idHeader: "X-Receipt" })).headers["x-receipt"]).toBe("k"),
      },
      "a b",
      "Authorization",
      null,
    ),
    orderField: textOf({
      effect: async (test) => {
        const running = overlaps();
        const opened = target(test, { deliver: running.deliver, orderField: "lease" });
        await Promise.all([1, 2, 3].map((n) => opened.send({ n, lease: "l" })));
        expect(running.most()).toBe(1);
      },
    }),
    backoff: {
      refuses: ["sometimes", { kind: "fixed", delayMs: Number.NaN }, 5, null],
      effect: async (test) => {
        const { seconds, deliver } = failing(test, BROKEN);
        await inTime(test, target(test, { deliver, retries: 2, backoff: "list:7s" }).send(RECEIPT));
        expect(seconds).toEqual([0, 7, 14]);
      },
    },
    backoffBase: {
      refuses: [-1, 61, "2", null],
      effect: async (test) => {
        const { seconds, deliver } = failing(test, BROKEN);
        await inTime(test, target(test, { deliver, retries: 2, backoffBase: 3 }).send(RECEIPT));
        expect(seconds).toEqual([0, 3, 12]);
      },
    },
    retries: {
      refuses: [-1, "3", 1.5, 1001, null],
      effect: async (test) => {
        const { seconds, deliver } = failing(test, BROKEN);
        await inTime(test, target(test, { deliver, retries: 1 }).send(RECEIPT));
        expect(seconds).toHaveLength(2);
      },
    },
    breaker: {
      refuses: [5, "on", { failureThreshold: 0 }, { timeoutMs: "soon" }, { timeout: "soon" }, { timout: 5 }],
      effect: async (test) => {
        const { seconds, deliver } = failing(test, LIMIT, LIMIT, null);
        const breaker = { failureThreshold: 2, timeout: "40s", successThreshold: 1, halfOpenRequests: 1 };
        const opened = target(test, { deliver, breaker, backoffBase: 0, concurrency: 1 });
        await inTime(test, opened.send(RECEIPT));
        expect(seconds[2]).toBeGreaterThanOrEqual(40);
        const old = { failureThreshold: 7, timeoutMs: 50_000 };
        await opened.change({ breaker: old });
        expect((await opened.settings()).policy.breaker).toMatchObject(old);
        await expect(opened.change({ breaker: { ...old, timeout: 5 } })).rejects.toMatchObject({
          code: "usage",
        });
      },
    },
    onOutage: {
      refuses: ["stop", true],
      effect: async (test) => {
        const { deliver } = failing(test, LIMIT, LIMIT, null);
        const opened = target(test, { deliver, retries: 0, onOutage: "wait" });
        expect(await inTime(test, opened.send(RECEIPT))).toBe(true);
      },
    },
    maxOutage: { refuses: [0, "soon"], effect: (test) => endedOutage(test, { maxOutage: "100s" }) },
    outageMsMax: {
      refuses: [-1, "1h", Number.NaN],
      effect: (test) => endedOutage(test, { outageMsMax: 100_000 }),
    },
    rate: {
      refuses: ["fast", 5, { perSecond: 0 }, { perSecond: "1" }],
      effect: (test) => onePerSecond(test, { rate: "1/s" }),
    },
    ownRate: {
      refuses: ["fast", 5, { perSecond: 0 }, null],
      effect: (test) => onePerSecond(test, { ownRate: "1/s" }),
    },
    lease: { refuses: [0, 999, "500ms", null], effect: (test) => leasedFor90s(test, { lease: "90s" }) },
    leaseMs: {
      refuses: [0, 999, "8s", null],
      effect: (test) => leasedFor90s(test, { leaseMs: 90_000 }),
    },
    maxLosses: { refuses: [0, 1.5, "3", null], effect: (test) => deadAfterOneLoss(test, { maxLosses: 1 }) },
    lossesMax: { refuses: [0, 1.5, "3", null], effect: (test) => deadAfterOneLoss(test, { lossesMax: 1 }) },
    description: {
      refuses: [7, {}],
      effect: async (test) => {
        const opened = target(test, { deliver: () => undefined, description: "receipts of tasks" });
        await opened.opened;
        expect(await opened.settings()).toMatchObject({ description: "receipts of tasks" });
      },
    },
    deliver: {
      refuses: ["x", 7, null],
      effect: async (test) => {
        const seen: unknown[] = [];
        const deliver = (receipt: unknown, { key }: { key: string }) => void seen.push(receipt, key);
        expect(await target(test, { deliver }).send(RECEIPT, { key: "k" })).toBe(true);
        expect(seen).toEqual([RECEIPT, "k"]);
      },
    },
    isDelivering: {
      refuses: NOT.flag,
      effect: async (test) => {
        const { seconds, deliver } = failing(test, null);
        const storing = target(test, { deliver, isDelivering: false });
        await storing.send(RECEIPT, { wait: false });
        await storing.close();
        expect(seconds).toEqual([]);
        expect(await target(test, { deliver }).send(RECEIPT)).toBe(true);
      },
    },
    concurrency: {
      refuses: [0, ...NOT.count],
      effect: async (test) => {
        const running = overlaps();
        const opened = target(test, { deliver: running.deliver, concurrency: 2 });
        await Promise.all([1, 2, 3, 4].map((n) => opened.send({ n })));
        expect(running.most()).toBe(2);
      },
    },
    onSettled: {
      refuses: NOT.function,
      effect: async (test) => {
        const seen: string[] = [];
        const onSettled: ReceiptOptions["onSettled"] = ({ itemId }, { outcome }) =>
          void seen.push(`${itemId} ${outcome}`);
        await target(test, { deliver: () => undefined, onSettled }).send(RECEIPT, { key: "k" });
        expect(seen).toEqual(["k succeeded"]);
      },
    },
    onPaused: {
      refuses: NOT.function,
      effect: async (test) => {
        const seen: boolean[] = [];
        const opened = target(test, {
          deliver: () => undefined,
          onPaused: (isPaused) => seen.push(isPaused),
        });
        await opened.opened;
        await opened.pause();
        await opened.send(RECEIPT, { wait: false });
        await inTime(test, expect.poll(() => seen, { timeout: 10_000 }).toEqual([true]));
      },
    },
    onError: {
      refuses: NOT.function,
      effect: async (test) => {
        const seen: unknown[] = [];
        const opened = target(test, { onError: (error) => seen.push(error) }); // no such target
        await opened.opened.catch(() => undefined);
        expect(seen).toMatchObject([{ code: "job_not_found" }]);
      },
    },
    storeWaitMs: {
      refuses: [-1, "1s", null],
      effect: async (test) => {
        const { engine } = test.redrive;
        const broken = { ...engine, findJob: () => Promise.reject(storeAway()) };
        const { Target } = await import("../../../src/library/checked/targets.ts");
        const opened = new Target(broken, "t", {
          deliver: () => undefined,
          storeWaitMs: 0,
          clock: test.clock,
        });
        await expect(opened.opened).rejects.toMatchObject({ code: "store_unavailable" });
        await opened.close();
      },
    },
    poisonAfter: {
      refuses: NOT.count,
      effect: async (test) => {
        const opened = target(test, { deliver: failing(test, BROKEN).deliver, retries: 0, poisonAfter: 1 });
        await opened.send(RECEIPT, { key: "k" });
        const letters = test.redrive.letters({ queue: "t" });
        await letters.retry();
        await inTime(
          test,
          expect.poll(async () => (await letters.first())?.poison, { timeout: 10_000 }).toBe(true),
        );
      },
    },
    groupRules: {
      refuses: [[{ name: "x" }], [{ match: {} }], 7, null],
      effect: async (test) => {
        const groupRules = [{ name: "receipts", match: { text: "not delivered" } }];
        await target(test, { deliver: failing(test, BROKEN).deliver, retries: 0, groupRules }).send(RECEIPT);
        expect(await test.redrive.letters({ group: "receipts" }).count()).toBe(1);
      },
    },
    classRules: {
      refuses: [[{ match: {}, class: "permanant" }], [{ class: "outage" }], 7, null],
      effect: async (test) => {
        const classRules = [{ match: { text: "not delivered" }, class: "permanent" }] as const;
        const { seconds, deliver } = failing(test, BROKEN);
        await target(test, { deliver, classRules }).send(RECEIPT);
        expect(seconds).toHaveLength(1);
      },
    },
    limits: {
      refuses: [{ maxItems: "many" }, { maxitems: 1 }, 7, null],
      effect: async (test) => {
        await twoLetters(test, { limits: { maxItems: 1 } });
        expect(await test.redrive.letters({ queue: "t" }).count()).toBe(1);
      },
    },
    home: {
      refuses: [7, "", {}, null],
      effect: async (test) => {
        const home = directory.file("home");
        await twoLetters(test, { limits: { maxItems: 1 }, home });
        expect(existsSync(home)).toBe(true);
      },
    },
    onNotice: {
      refuses: NOT.function,
      effect: async (test) => {
        const notices: string[] = [];
        await twoLetters(test, { limits: { maxItems: 1 }, onNotice: (notice) => notices.push(notice) });
        expect(notices).not.toEqual([]);
      },
    },
    alongside: {
      refuses: NOT.function,
      effect: async (test) => {
        const seen: string[] = [];
        const alongside: ReceiptOptions["alongside"] = ({ id }) => {
          seen.push(id);
          return { settled: () => undefined, stop: async () => undefined };
        };
        await target(test, { deliver: () => undefined, alongside }).send(RECEIPT);
        expect(seen).toEqual(["t"]);
      },
    },
    clock: {
      refuses: [{}, { now: 5 }, 7, null],
      effect: async (test) => {
        const own = new TestClock("2031-01-01T00:00:00Z");
        const { deliver } = failing(test, BROKEN);
        await target(test, { deliver, retries: 0, clock: own }).send(RECEIPT);
        const letter = await test.redrive.letters({ queue: "t" }).first();
        expect(letter?.failures.at(-1)?.at.getUTCFullYear()).toBe(2031);
      },
    },
  },
});

describeOptions<SendOptions>("target.send", {
  call: async (redrive, given) => {
    const opened = redrive.receipts("sending", { deliver: () => undefined });
    try {
      return await opened.send(RECEIPT, given);
    } finally {
      await opened.close();
    }
  },
  prepare: async (redrive) => {
    const opened = redrive.receipts("sending", { deliver: () => undefined });
    await opened.opened;
    await opened.close();
  },
  options: {
    key: {
      refuses: [7, {}, "", null],
      effect: async (test) => {
        const opened = target(test, { deliver: () => undefined });
        await opened.send(RECEIPT, { key: "k" });
        await expect(opened.send({ n: 2 }, { key: "k" })).rejects.toMatchObject({ code: "receipt_conflict" });
      },
    },
    orderingKey: { refuses: [7, {}, null], effect: (test) => oneByOne(test, { orderingKey: "one" }) },
    order: {
      refuses: [7, {}, null],
      effect: (test) => oneByOne(test, { order: "one" }),
    },
    wait: {
      refuses: NOT.flag,
      effect: async (test) => {
        const opened = target(test, { deliver: () => new Promise(() => undefined) });
        expect(await opened.send(RECEIPT, { key: "k", wait: false })).toMatchObject({
          key: "k",
          isNew: true,
        });
      },
    },
    signal: {
      refuses: NOT.signal,
      effect: async (test) => {
        const opened = target(test, { deliver: () => new Promise(() => undefined) });
        const sending = opened.send(RECEIPT, { signal: AbortSignal.abort() });
        await expect(sending).rejects.toMatchObject({ code: "interrupted" });
      },
    },
  },
});

it("a target that could not be opened can be opened with other options", async () => {
  await using test = await openTest();
  await expect(target(test, { url: "nowhere" }).opened).rejects.toMatchObject({
    code: "usage",
    field: "url",
  });
  expect(await target(test, { deliver: () => undefined }).send(RECEIPT)).toBe(true);
});

/** A function that counts how many calls of it run at the same time. */
function overlaps() {
  let running = 0;
  let most = 0;
  const deliver = async () => {
    running += 1;
    most = Math.max(most, running);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    running -= 1;
  };
  return { deliver, most: () => most };
}

async function onePerSecond(test: TestStore, options: ReceiptOptions): Promise<void> {
  const { seconds, deliver } = failing(test, null);
  const opened = target(test, { deliver, ...options });
  await inTime(test, Promise.all([1, 2, 3].map((n) => opened.send({ n }))));
  expect((seconds[2] ?? 0) - (seconds[0] ?? 0)).toBeGreaterThanOrEqual(2);
}

async function twoLetters(test: TestStore, options: ReceiptOptions): Promise<void> {
  const opened = target(test, { deliver: failing(test, BROKEN).deliver, retries: 0, ...options });
  for (const n of [1, 2]) await opened.send({ n });
  await opened.close();
}

async function withMcp(
  use: (mcp: { url: string; calls: () => readonly object[] }) => Promise<void>,
): Promise<void> {
  const mcp = await McpServer.open();
  try {
    await use({ url: mcp.url, calls: () => mcp.calls });
  } finally {
    await mcp.close();
  }
}

function storeAway(): Error {
  return new RedriveError("store_unavailable", "The store is away.");
}
