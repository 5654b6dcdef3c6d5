/** What JavaScript callers give to the library without the help of types: refused at the door, the same on every store. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as library from "../../src/exports/engine.ts";
import {
  addItems,
  createQueue,
  DEFAULT_POLICY,
  DlqManager,
  type Engine,
  openStore,
  RedriveError,
  runQueue,
} from "../../src/exports/engine.ts";
import { open } from "../../src/index.ts";
import { randomName } from "../../src/std/random.ts";
import { dropSchema, postgresUrl } from "../support/postgres-stores.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

/** As JavaScript sees it. */
const loose = library as unknown as Record<string, (...given: unknown[]) => unknown>;

/** The error of a call that has to be refused, thrown or rejected. */
async function refusal(call: () => unknown): Promise<RedriveError> {
  try {
    const answer = await call();
    if (typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer)
      for await (const _ of answer as AsyncIterable<unknown>) break;
  } catch (error) {
    expect(error).toBeInstanceOf(RedriveError);
    return error as RedriveError;
  }
  throw new Error("nothing was refused");
}

const directory = new TemporaryDirectory();
const schema = `test_${randomName(10)}`;
afterAll(async () => {
  directory.remove();
  await dropSchema(schema);
});

const URLS = {
  memory: () => "memory:",
  sqlite: () => `sqlite:${directory.file("store.db")}`,
  postgres: () => postgresUrl(schema),
};

describe.each(["memory", "sqlite", "postgres"] as const)("bad input to a %s store", (engine) => {
  let store: Engine;
  const queueName = () => `queue-${names}`;
  let names = 0;
  beforeAll(async () => {
    store = await openStore(URLS[engine]());
  });
  afterAll(() => store.close());
  beforeEach(async () => {
    names += 1;
    await createQueue(store, queueName(), { maxRetries: 0 });
  });

  it.each([
    [{ backoff: "fixed:1s" }, /settings\.backoff: expected an object such as .*parseBackoff/],
    [{ backoff: { kind: "fixed", delayMs: "1s" } }, /settings\.backoff\.delayMs: expected a number of milli/],
    [{ backoff: { kind: "list", delaysMs: [] } }, /settings\.backoff\.delaysMs: expected a list of at least/],
    [{ backoff: { kind: "fixed", delayMs: Number.NaN } }, /settings\.backoff\.delayMs: expected/],
    [{ maxRetries: "3" }, /settings\.maxRetries: expected a whole number from 0 to 1000, but this is "3"/],
    [{ maxRetires: 3 }, /unknown option "maxRetires"/],
    [{ onItemFailure: "dql" }, /settings\.onItemFailure: expected one of dlq, retry/],
    [{ rate: 5 }, /settings\.rate: expected an object, but this is 5/],
    [{ breaker: { timeoutMs: "30s" } }, /settings\.breaker\.timeoutMs/],
    [{ description: 7 }, /settings\.description: expected a text/],
    [null, /settings: expected an object, but this is null/],
  ])("settings of a queue are refused: %j", async (settings, message) => {
    for (const call of ["createQueue", "changeQueue"]) {
      const error = await refusal(() => loose[call]?.(store, queueName(), settings));
      expect(error).toMatchObject({ code: "usage", message: expect.stringMatching(message) });
    }
  });

  it.each([
    [{ data: 1, priority: "urgent" }, /items\[0\]\.priority: expected one of high, normal, low/],
    [{ data: 1, dueAt: new Date() }, /items\[0\]\.dueAt: expected milliseconds .*, but this is a Date/],
    [{ data: 1, expiresAt: "tomorrow" }, /items\[0\]\.expiresAt: expected milliseconds/],
    [{ key: "k" }, /items\[0\]\.data is missing/],
    [{ key: 42, data: 1 }, /items\[0\]\.key: expected a text, but this is 42/],
    [{ data: 1, orderingKey: 5 }, /items\[0\]\.orderingKey: expected a text/],
    [{ data: 1, name: {} }, /items\[0\]\.name: expected a text, but this is an object/],
    [{ data: 1, prority: "high" }, /unknown field "prority"/],
    [
      { data: () => 1 },
      /items\[0\]\.data: expected data that can be represented as JSON \(it has a function\)/,
    ],
    [{ data: { n: Number.NaN } }, /NaN is not a JSON number/],
    [{ data: { when: new Map() } }, /it contains a Map or a Set/],
    ["a text", /items\[0\]: expected an object with data/],
  ])("an item is refused: %s", async (item, message) => {
    const error = await refusal(() =>
      loose.addItems?.(store, queueName(), [{ data: "good" }, item].reverse()),
    );
    expect(error).toMatchObject({ code: "usage", message: expect.stringMatching(message) });
    expect((await store.count(queueName())).total).toBe(0);
  });

  it("data with a Date and an absent field is kept as JSON has it", async () => {
    await loose.addItems?.(store, queueName(), [{ key: "k", data: { at: new Date(0), gone: undefined } }]);
    const [item] = await store.listItems({ queue: queueName(), limit: 1 });
    expect(item?.data).toEqual({ at: "1970-01-01T00:00:00.000Z" });
    expect(Object.keys(item?.data as object)).toEqual(["at"]);
  });

  it("a failure that a program reports is validated", async () => {
    const manager = await DlqManager.open(store, { job: `job-${names}`, home: directory.path });
    const report = manager.addFailedItem.bind(manager) as (...given: unknown[]) => Promise<unknown>;
    const item = { itemId: "a", data: 1 };
    for (const [failure, message] of [
      [{ errorMessage: "x", errorType: "Timeout" }, /failure\.errorType: expected an object such as/],
      [{ errorMessage: "x", errorType: { name: "Timeuot" } }, /ERROR_TYPE_NAMES/],
      [{ errorMessage: "x", timestamp: new Date() }, /failure\.timestamp: expected milliseconds/],
      [{ errorMessage: "x", exitCode: "1" }, /failure\.exitCode: expected a whole number/],
      [{}, /failure\.errorMessage is missing/],
      ["failed", /failure: expected an object/],
    ] as const)
      expect((await refusal(() => report(item, failure))).message).toMatch(message);
    for (const wrong of [{ itemId: 1, data: 1 }, { data: 1 }, { itemId: "a" }, null])
      expect((await refusal(() => report(wrong, { errorMessage: "x" }))).code).toBe("usage");
    expect(await manager.listItems()).toEqual([]);
    const list = manager.listItems.bind(manager) as (request: unknown) => Promise<unknown>;
    expect((await refusal(() => list({ types: ["Timeuot"] }))).message).toMatch(/request\.types\[0\]/);
    expect((await refusal(() => list({ olderThanMs: "1d" }))).message).toMatch(/request\.olderThanMs/);
    const purge = manager.purgeOldItems.bind(manager) as (before: unknown) => Promise<unknown>;
    expect((await refusal(() => purge("2020-01-01"))).message).toMatch(/olderThan: expected a Date/);
  });

  it("the methods of the store validate their arguments", async () => {
    const calls: readonly [name: string, ...given: unknown[]][] = [
      ["add", queueName(), [{ itemId: 5, data: 1 }]],
      ["add", queueName(), { itemId: "a", data: 1 }],
      ["createJob", { id: 1, name: "x", kind: "queue", spec: {} }],
      ["findJob", 5],
      ["listLetters", { limit: "10" }],
      ["listItems", { queue: 5, limit: 1 }],
      ["listEvents", { after: "0", limit: 1 }],
      ["listItemEvents", { queue: queueName(), itemId: "a", times: "0" }],
      ["hold", queueName(), "a", { author: "me" }],
      ["importLetters", queueName(), [{ itemId: "a" }]],
      ["addNote", "1", { author: "me", text: "x" }],
    ];
    for (const [call, ...given] of calls) {
      const method = (store as never as Record<string, (...all: unknown[]) => unknown>)[call];
      expect((await refusal(() => method?.(...given))).code, call).toBe("usage");
    }
  });

  it("a handler that does not return an outcome fails its attempt, with the reason", async () => {
    await addItems(store, queueName(), [{ key: "a", data: 1 }]);
    const result = await runQueue({
      engine: store,
      queue: queueName(),
      policy: { ...DEFAULT_POLICY, maxAttempts: 1 },
      slots: 1,
      stop: new AbortController().signal,
      handler: (async () => ({ kind: "failed", failure: { errorType: "Timeout" } })) as never,
    });
    expect(result.end).toBe("finished");
    const { letters } = await store.listLetters({ queue: queueName(), limit: 1 });
    expect(letters[0]?.failureHistory[0]?.errorMessage).toMatch(/outcome\.failure\.errorType: expected/);
  });

  it("evidence that is not the name of a file does not end the worker", async () => {
    const redrive = await open(URLS[engine](), { home: directory.path });
    const queue = redrive.queue(queueName(), { retries: 0 });
    await queue.add(1);
    const worker = queue.work(
      ({ evidence }) => {
        (evidence as (path: unknown) => void)(5);
        throw new Error("it failed");
      },
      { untilEmpty: true },
    );
    await worker.ended;
    expect((await queue.letters().first())?.failures[0]?.message).toBe("it failed");
    await redrive.close();
  });
});

describe("every function of the library that takes input", () => {
  /** Pure conversions and constants: they read no input of a caller, or accept anything on purpose. */
  const UNCHECKED = new Set([
    ...["letterFromJson", "failureFromJson", "letterToJson", "failureToJson", "eventToJson", "errorToJson"],
    ...["errorToBody", "groupToJson", "groupRecordToJson", "operationToJson", "queueToJson", "summaryToJson"],
    ...["analysisToJson", "explanationToJson", "letterStatsToJson", "archiveOf", "decide", "signatureOf"],
    ...["homeOf", "storeUrlOf", "jobLogs", "letterMirror", "parseJson", "stringifyJson"],
    ...["RedriveError", "BusinessException", "ITException", "GenericException"],
  ]);
  const functions = Object.entries(loose)
    .filter(([name, value]) => typeof value === "function" && !UNCHECKED.has(name))
    .map(([name]) => name);

  it.each(functions)("%s refuses invalid arguments", async (name) => {
    const call = loose[name] as ((...given: unknown[]) => unknown) & { open?: unknown };
    const isClass = /^class/.test(Function.prototype.toString.call(call));
    const attempt = () => {
      if (typeof call.open === "function") return call.open(5, 5);
      return isClass ? Reflect.construct(call, [5, 5, 5]) : call(5, 5, 5);
    };
    const error = await refusal(attempt);
    expect(error.code).toBe("usage");
    expect(error.message).toMatch(/expected/);
  });

  it("a store that was not awaited is named as such", async () => {
    const error = await refusal(() => loose.listQueues?.(openStore("memory:")));
    expect(error.message).toBe(
      "listQueues: engine: expected an open store, but this is a promise (an await is missing).",
    );
  });
});
