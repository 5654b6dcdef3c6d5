/** The options of `open`, and of what the entry object reads and changes: events, errors, groups, jobs, operations, schedules. */
import { existsSync } from "node:fs";
import { type Tracer, trace } from "@opentelemetry/api";
import { afterAll, expect, it } from "vitest";
import { openTest, TestClock, type TestStore } from "../../../src/exports/testing.ts";
import { type EventQuery, type OpenOptions, open, type Redrive } from "../../../src/index.ts";
import type { IgnoreOptions } from "../../../src/library/groups.ts";
import type { ErrorQuery } from "../../../src/library/history.ts";
import type { OperationWait } from "../../../src/library/operations.ts";
import { type OpenTelemetryOptions, opentelemetry } from "../../../src/library/otel.ts";
import type { ScheduleOptions } from "../../../src/library/schedules.ts";
import type { DrainOptions, TestOptions } from "../../../src/library/testing/open-test.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";
import { all, describeOptions, NOT, type OptionCase, type OptionCases } from "./option-cases.ts";
import { failing, timed } from "./policy-cases.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

/** A store in memory with these options, in which two letters were made: of the items k0 and k1. */
async function failed(options: OpenOptions, use: (redrive: Redrive) => Promise<void>): Promise<void> {
  const redrive = await open("memory:", {
    home: directory.file("home"),
    onNotice: () => undefined,
    ...options,
  });
  await fail(redrive);
  await use(redrive);
  await redrive.close();
}

async function fail(redrive: Redrive) {
  const queue = redrive.queue<number, unknown>("q", { retries: 0 });
  await queue.addMany([0, 1].map((data) => ({ data, key: `k${data}` })));
  const work = ({ data }: { readonly data: number }) => {
    throw new Error(data === 0 ? "no such file" : "the disk is slow");
  };
  await queue.work(work, { untilEmpty: true, concurrency: 1 }).ended;
  return queue;
}

const openOptions: OptionCases<OpenOptions> = {
  home: {
    refuses: NOT.text,
    effect: async () => {
      const home = directory.file("own-home");
      await failed({ home }, async (redrive) => {
        const { archive = "" } = await redrive.queue("q").letters().purge();
        expect(archive).toContain(home);
        expect(existsSync(archive)).toBe(true);
      });
    },
  },
  author: {
    refuses: NOT.text,
    effect: () =>
      failed({ author: "ann" }, async (redrive) => {
        expect((await redrive.queue("q").letters().retry()).author).toBe("ann via library");
      }),
  },
  use: {
    refuses: [[7], "x", [{ handel: () => 1 }], null],
    effect: async () => {
      const seen: string[] = [];
      const use = [{ handle: ({ id }: { id: string }) => void seen.push(id) }];
      await failed({ use }, async () => expect(seen.sort()).toEqual(["k0", "k1"]));
    },
  },
  limits: {
    refuses: [{ maxItems: "many" }, { maxitems: 1 }, 7, null],
    effect: () =>
      failed({ limits: { maxItems: 1 } }, async (redrive) => {
        expect(await redrive.letters().count()).toBe(1);
      }),
  },
  groupRules: {
    refuses: [[{ name: "x" }], [{ match: {} }], 7, null],
    effect: () =>
      failed({ groupRules: [{ name: "disks", match: { text: "disk" } }] }, async (redrive) => {
        expect(await redrive.letters({ group: "disks" }).count()).toBe(1);
      }),
  },
  classRules: {
    refuses: [[{ match: {}, class: "permanant" }], [{ class: "outage" }], 7, null],
    effect: () =>
      failed({ classRules: [{ match: { text: "disk" }, class: "permanent" }] }, async (redrive) => {
        expect(await redrive.letters({ class: "permanent" }).count()).toBe(1);
      }),
  },
  poisonAfter: {
    refuses: NOT.count,
    effect: () =>
      failed({ poisonAfter: 1 }, async (redrive) => {
        const queue = redrive.queue<number>("q");
        await queue.letters({ ids: "k1" }).retry();
        await queue.work(failing, { untilEmpty: true }).ended;
        expect(await queue.letters({ ids: "k1" }).first()).toMatchObject({ poison: true });
      }),
  },
  mustExist: {
    refuses: NOT.flag,
    effect: async () => {
      const url = `sqlite:${directory.file("none.db")}`;
      await expect(open(url, { mustExist: true })).rejects.toMatchObject({ code: "input_invalid" });
    },
  },
  onNotice: {
    refuses: NOT.function,
    effect: async () => {
      const notices: string[] = [];
      const onNotice = (notice: string) => void notices.push(notice);
      await failed({ onNotice, limits: { maxItems: 1 } }, async () => undefined);
      expect(notices).not.toEqual([]);
    },
  },
  clock: {
    refuses: [{}, { now: 5 }, 7, null],
    effect: () =>
      failed({ clock: new TestClock("2031-01-01T00:00:00Z") }, async (redrive) => {
        expect((await redrive.letters().first())?.lastAttempt.getUTCFullYear()).toBe(2031);
      }),
  },
};

describeOptions<OpenOptions>("open", {
  call: async ({ engine }, given) => {
    const url = engine.url.startsWith("sqlite:") ? `sqlite:${directory.file("unopened.db")}` : engine.url;
    await (await open(url, given)).close();
  },
  options: openOptions,
});

const eventsOf = async (redrive: Redrive, query: EventQuery) =>
  (await all(redrive.events(query))).map(({ type, item }) => `${type} ${item}`);

const FOLLOWING = { refuses: NOT.flag } as const;

describeOptions<EventQuery>("redrive.events", {
  call: (redrive, given) => redrive.events(given),
  prepare: fail,
  options: {
    queue: {
      refuses: NOT.text,
      effect: async ({ redrive }) => {
        await fail(redrive);
        expect(await eventsOf(redrive, { queue: "other" })).toEqual([]);
      },
    },
    types: {
      refuses: ["attempt_faild", ["x"], 7, null],
      effect: async ({ redrive }) => {
        await fail(redrive);
        const types = ["attempt_failed"] as const;
        expect(await eventsOf(redrive, { types })).toEqual(["attempt_failed k0", "attempt_failed k1"]);
      },
    },
    item: {
      refuses: NOT.text,
      effect: async ({ redrive }) => {
        await fail(redrive);
        const events = await all(redrive.events({ item: "k1" }));
        expect(new Set(events.map(({ item }) => item))).toEqual(new Set(["k1"]));
      },
    },
    since: {
      refuses: ["yesterday", new Date(Number.NaN), null],
      effect: async ({ redrive, clock }) => {
        await fail(redrive);
        clock.advance("1h");
        expect(await eventsOf(redrive, { since: clock.date() })).toEqual([]);
      },
    },
    after: {
      refuses: NOT.count,
      effect: async ({ redrive }) => {
        await fail(redrive);
        expect(await eventsOf(redrive, { after: await redrive.engine.newestEvent() })).toEqual([]);
      },
    },
    follow: {
      ...FOLLOWING,
      effect: async ({ redrive }) => {
        const queue = await fail(redrive);
        const following = redrive.events({ follow: true, after: await redrive.engine.newestEvent() });
        const next = following[Symbol.asyncIterator]().next();
        await queue.pause();
        expect((await next).value).toMatchObject({ type: "queue_paused" });
      },
    },
    signal: {
      refuses: NOT.signal,
      effect: async ({ redrive }) => {
        await fail(redrive);
        expect(await eventsOf(redrive, { follow: true, after: 0, signal: AbortSignal.abort() })).toEqual([]);
      },
    },
  },
});

const errorsOf = async (redrive: Redrive, query: ErrorQuery) =>
  (await all(redrive.errors(query))).map(({ item }) => item).sort();

describeOptions<ErrorQuery>("redrive.errors", {
  call: (redrive, given) => redrive.errors(given),
  prepare: fail,
  options: {
    queue: {
      refuses: [7, "", {}, null],
      effect: async ({ redrive }) => {
        await fail(redrive);
        expect(await errorsOf(redrive, { queue: ["other"] })).toEqual([]);
        expect(await errorsOf(redrive, { queue: "q" })).toEqual(["k0", "k1"]);
      },
    },
    item: {
      refuses: NOT.text,
      effect: async ({ redrive }) => {
        await fail(redrive);
        expect(await errorsOf(redrive, { item: "k1" })).toEqual(["k1"]);
      },
    },
    origin: {
      refuses: ["other", 7, null],
      effect: async ({ redrive }) => {
        await fail(redrive);
        expect(await errorsOf(redrive, { origin: "runner" })).toEqual([]);
      },
    },
    since: {
      refuses: ["yesterday", new Date(Number.NaN), null],
      effect: async ({ redrive, clock }) => {
        await fail(redrive);
        clock.advance("1h");
        expect(await errorsOf(redrive, { since: clock.now() })).toEqual([]);
      },
    },
    follow: {
      ...FOLLOWING,
      effect: async ({ redrive }) => {
        const following = redrive.errors({ follow: true })[Symbol.asyncIterator]();
        const next = following.next();
        await fail(redrive);
        expect((await next).value).toMatchObject({ item: "k0" });
      },
    },
    signal: {
      refuses: NOT.signal,
      effect: async ({ redrive }) => {
        await fail(redrive);
        expect(await errorsOf(redrive, { signal: AbortSignal.abort() })).toEqual([]);
      },
    },
  },
});

/** The group of "the disk is slow". */
async function groupOf(redrive: Redrive): Promise<string> {
  const groups = await redrive.groups.list({ states: ["open", "ignored", "resolved"] });
  return groups.find(({ title }) => title.includes("disk"))?.signature ?? "";
}

async function notesOf(redrive: Redrive): Promise<readonly string[]> {
  return ((await redrive.engine.readGroup(await groupOf(redrive)))?.notes ?? []).map(({ text }) => text);
}

/** Another failure of the same group. */
async function failAgain(redrive: Redrive): Promise<void> {
  const queue = redrive.queue<number, unknown>("q");
  await queue.letters({ ids: "k1" }).retry();
  const work = () => {
    throw new Error("the disk is slow");
  };
  await queue.work(work, { untilEmpty: true }).ended;
}

const endsIgnoring =
  (options: IgnoreOptions, end: (test: TestStore) => Promise<unknown>) => async (test: TestStore) => {
    const { redrive } = test;
    await fail(redrive);
    const group = await groupOf(redrive);
    expect(await redrive.groups.ignore(group, options)).toMatchObject({ state: "ignored" });
    await end(test);
    expect(await redrive.groups.get(group)).toMatchObject({ state: "open" });
  };

const NOTE = (change: "resolve" | "reopen" | "ignore"): OptionCase => ({
  refuses: NOT.text,
  effect: async ({ redrive }) => {
    await fail(redrive);
    await redrive.groups[change](await groupOf(redrive), { note: "a note" });
    expect(await notesOf(redrive)).toEqual(["a note"]);
  },
});

for (const change of ["resolve", "reopen"] as const)
  describeOptions<{ note?: string }>(`groups.${change}`, {
    call: async (redrive, given) => redrive.groups[change](await groupOf(redrive), given),
    prepare: fail,
    options: { note: NOTE(change) },
  });

describeOptions<IgnoreOptions>("groups.ignore", {
  call: async (redrive, given) => redrive.groups.ignore(await groupOf(redrive), given),
  prepare: fail,
  options: {
    until: {
      refuses: ["tomorrow", new Date(Number.NaN), null],
      effect: endsIgnoring({ until: "2026-03-02T00:00:00Z" }, async ({ redrive, clock }) => {
        clock.advance("2d");
        await failAgain(redrive);
      }),
    },
    during: {
      refuses: NOT.duration,
      effect: endsIgnoring({ during: "1h" }, async ({ redrive, clock }) => {
        clock.advance("2h");
        await failAgain(redrive);
      }),
    },
    count: {
      refuses: [0, ...NOT.count],
      effect: endsIgnoring({ count: 1 }, ({ redrive }) => failAgain(redrive)),
    },
    note: NOTE("ignore"),
  },
});

describeOptions<{ queue?: string; states?: string; assignee?: string }>("groups.list", {
  call: (redrive, given) => redrive.groups.list(given),
  prepare: fail,
  options: {
    queue: {
      refuses: NOT.text,
      effect: async ({ redrive }) => {
        await fail(redrive);
        expect(await redrive.groups.list({ queue: "other" })).toEqual([]);
        expect(await redrive.groups.list({ queue: "q" })).toHaveLength(2);
      },
    },
    states: {
      refuses: ["closed", ["x"], 7, null],
      effect: async ({ redrive }) => {
        await fail(redrive);
        await redrive.groups.resolve(await groupOf(redrive));
        expect(await redrive.groups.list({ states: "resolved" })).toMatchObject([{ state: "resolved" }]);
      },
    },
    assignee: {
      refuses: NOT.text,
      effect: async ({ redrive }) => {
        await fail(redrive);
        await redrive.groups.assign(await groupOf(redrive), "ann");
        expect(await redrive.groups.list({ assignee: "ann" })).toMatchObject([{ assignee: "ann" }]);
        expect(await redrive.groups.list({ assignee: "bob" })).toEqual([]);
      },
    },
  },
});

describeOptions<{ text: string; name?: string }>("groups.split", {
  call: async (redrive, given) => redrive.groups.split(await groupOf(redrive), given),
  base: { text: "slow" },
  prepare: fail,
  options: {
    text: {
      refuses: [...NOT.text, undefined],
      effect: async ({ redrive }) => {
        await fail(redrive);
        expect(await redrive.groups.split(await groupOf(redrive), { text: "slow" })).toMatchObject({
          count: 1,
        });
      },
    },
    name: {
      refuses: NOT.text,
      effect: async ({ redrive }) => {
        await fail(redrive);
        const split = await redrive.groups.split(await groupOf(redrive), {
          text: "slow",
          name: "slow disks",
        });
        expect(split.pattern).toBe("slow disks");
      },
    },
  },
});

describeOptions<{ limit?: number }>("jobs.list", {
  call: (redrive, given) => redrive.jobs.list(given),
  options: {
    limit: {
      refuses: [0, 1.5, "3", null],
      effect: async ({ redrive }) => {
        for (const name of ["a", "b"]) await redrive.map(name, [1], () => 1);
        expect(await redrive.jobs.list({ limit: 1 })).toHaveLength(1);
      },
    },
  },
});

describeOptions<{ reason?: string }>("jobs.pause", {
  call: (redrive, given) => redrive.jobs.pause("job", given),
  prepare: (redrive) => redrive.map("job", [1], () => 1),
  options: {
    reason: {
      refuses: [7, {}, null],
      effect: async ({ redrive }) => {
        await redrive.map("job", [1], () => 1);
        await redrive.jobs.pause("job", { reason: "slow" });
        expect((await redrive.engine.findJob("job"))?.pause?.reason).toBe("slow");
      },
    },
  },
});

const sendLater = async (redrive: Redrive) => (await fail(redrive)).letters().retry({ delay: "1h" });

describeOptions<{ queue?: string; open?: boolean }>("operations.list", {
  call: (redrive, given) => redrive.operations.list(given),
  options: {
    queue: {
      refuses: NOT.text,
      effect: async ({ redrive }) => {
        await sendLater(redrive);
        expect(await redrive.operations.list({ queue: "other" })).toEqual([]);
      },
    },
    open: {
      refuses: NOT.flag,
      effect: async ({ redrive }) => {
        await sendLater(redrive);
        expect(await redrive.operations.list({ open: false })).toEqual([]);
        expect(await redrive.operations.list({ open: true })).toHaveLength(1);
      },
    },
  },
});

describeOptions<OperationWait>("operations.wait", {
  call: (redrive, given) => redrive.operations.wait("op-none", given),
  options: {
    timeout: {
      refuses: NOT.duration,
      effect: async ({ redrive, clock }) => {
        const { id } = await sendLater(redrive);
        const ended = redrive.operations.wait(id, { timeout: "1m" }).catch((error: unknown) => error);
        for (let minute = 0; minute < 30; minute += 1) {
          clock.advance("1m");
          await new Promise(setImmediate);
        }
        expect(await ended).toMatchObject({ code: "wait_timeout" });
      },
    },
    signal: {
      refuses: NOT.signal,
      effect: async ({ redrive }) => {
        const { id } = await sendLater(redrive);
        const wait = redrive.operations.wait(id, { signal: AbortSignal.abort() });
        await expect(wait).rejects.toMatchObject({ code: "interrupted" });
      },
    },
  },
});

/** The first item of a schedule, after it was due at one o'clock. */
const scheduled =
  (options: Partial<ScheduleOptions>, expected: object): OptionCase["effect"] =>
  async ({ redrive, clock }) => {
    const queue = redrive.queue<number>("q");
    await queue.ready();
    await redrive.schedule("hourly", { queue: "q", cron: "0 * * * *", ...options });
    clock.set("2026-03-01T01:00:00Z");
    await runSchedules(redrive);
    const [item] = await redrive.engine.listItems({ queue: options.queue ?? "q", limit: 1 });
    expect(item).toMatchObject(expected);
  };

/** A paused worker adds what is due, and takes nothing. */
async function runSchedules(redrive: Redrive, queue = "q"): Promise<void> {
  await redrive.queue(queue).pause();
  const worker = redrive.queue(queue).work(() => 1);
  await expect.poll(async () => (await redrive.schedules.get("hourly")).lastRun).not.toBeNull();
  await worker.stop();
}

describeOptions<ScheduleOptions>("redrive.schedule", {
  call: (redrive, given) => redrive.schedule("hourly", given),
  base: { queue: "q", cron: "0 * * * *" },
  prepare: (redrive) => redrive.queue("q").ready(),
  options: {
    queue: {
      refuses: [...NOT.text, undefined],
      effect: async ({ redrive, clock }) => {
        await redrive.queue("other").ready();
        await redrive.schedule("hourly", { queue: "other", cron: "0 * * * *" });
        clock.set("2026-03-01T01:00:00Z");
        await runSchedules(redrive, "other");
        expect(await redrive.queue("other").counts()).toMatchObject({ ready: 1 });
      },
    },
    cron: {
      refuses: [...NOT.text, "61 * * * *", "every day", undefined],
      effect: async ({ redrive }) => {
        await redrive.queue("q").ready();
        const { nextRun } = await redrive.schedule("hourly", { queue: "q", cron: "30 4 * * *" });
        expect(nextRun).toEqual(new Date("2026-03-01T04:30:00Z"));
      },
    },
    timezone: {
      refuses: [...NOT.text, "Europe/Atlantis"],
      effect: async ({ redrive }) => {
        await redrive.queue("q").ready();
        const options = { queue: "q", cron: "30 4 * * *", timezone: "Europe/Berlin" };
        expect((await redrive.schedule("hourly", options)).nextRun).toEqual(new Date("2026-03-01T03:30:00Z"));
      },
    },
    data: {
      refuses: [() => 1, Number.NaN, new Map()],
      effect: scheduled({ data: { kind: "short" } }, { data: { kind: "short" } }),
    },
    missed: {
      refuses: ["some", 7, null],
      effect: async ({ redrive, clock }) => {
        const queue = redrive.queue("q");
        await queue.ready();
        await redrive.schedule("hourly", { queue: "q", cron: "0 * * * *", missed: "all" });
        clock.set("2026-03-01T03:00:00Z");
        await runSchedules(redrive);
        await expect.poll(async () => (await queue.counts()).ready).toBe(3);
      },
    },
    name: { refuses: [7, {}, null], effect: scheduled({ name: "report" }, { name: "report" }) },
    priority: { refuses: ["urgent", 1, null], effect: scheduled({ priority: "low" }, { priority: "low" }) },
    orderingKey: { refuses: NOT.text, effect: scheduled({ orderingKey: "one" }, { orderingKey: "one" }) },
    expiresAfter: {
      refuses: [...NOT.duration, 0],
      effect: scheduled({ expiresAfter: "1h" }, { expiresAt: Date.UTC(2026, 2, 1, 2) }),
    },
    retries: { refuses: [-1, "3", 1.5, null], effect: scheduled({ retries: 7 }, { retries: 7 }) },
    backoff: {
      refuses: ["sometimes", 5, null],
      effect: scheduled({ backoff: "fixed:7s" }, { backoff: { kind: "fixed", delayMs: 7000 } }),
    },
  },
});

describeOptions<{ prefix?: string }>("redrive.metricsText", {
  call: (redrive, given) => redrive.metricsText(given),
  options: {
    prefix: {
      refuses: [7, {}, null],
      effect: async ({ redrive }) => expect(await redrive.metricsText({ prefix: "acme" })).toMatch(/^acme_/m),
    },
  },
});

describeOptions<OpenTelemetryOptions>("opentelemetry", {
  call: (_, given) => opentelemetry(given),
  options: {
    tracer: {
      refuses: [7, {}, "redrive", null],
      effect: async () => {
        const spans: string[] = [];
        const tracer = trace.getTracer("none");
        const startActiveSpan: Tracer["startActiveSpan"] = (name: string, ...rest: unknown[]) => {
          spans.push(name);
          return (tracer.startActiveSpan as (...given: unknown[]) => never)(name, ...rest);
        };
        const own = { startSpan: tracer.startSpan.bind(tracer), startActiveSpan };
        await using test = await openTest({ use: [opentelemetry({ tracer: own })] });
        await test.redrive.queue<number>("q").add(1);
        expect(spans).toEqual(["send q"]);
      },
    },
  },
});

describeOptions<TestOptions>("openTest", {
  call: (_, given) => openTest(given),
  options: {
    start: {
      refuses: ["yesterday", new Date(Number.NaN), null],
      effect: async () => {
        await using test = await openTest({ start: "2031-05-01T00:00:00Z" });
        expect(test.clock.date()).toEqual(new Date("2031-05-01T00:00:00Z"));
      },
    },
    use: {
      refuses: [[7], "x", null],
      effect: async () => {
        const seen: string[] = [];
        await using test = await openTest({ use: [({ id }) => void seen.push(id)] });
        await test.redrive.queue<number>("q").add(1, { key: "k" });
        test.redrive.queue<number>("q").work(failing);
        await test.drain();
        expect(seen).toEqual(["k"]);
      },
    },
  },
});

describeOptions<DrainOptions>("drain", {
  call: async (_, given) => {
    await using test = await openTest();
    await test.drain(given);
  },
  options: {
    advance: {
      refuses: NOT.flag,
      effect: async (test) => {
        const queue = test.redrive.queue<number>("q");
        const { minutes, handler } = timed(test, () => 1);
        await queue.add(1, { delay: "3m" });
        queue.work(handler);
        await test.drain({ advance: true });
        expect(minutes).toEqual([3]);
      },
    },
    timeout: {
      refuses: [...NOT.duration, 0],
      effect: async (test) => {
        const queue = test.redrive.queue<number>("q");
        await queue.add(1, { key: "a" });
        queue.work(({ signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)));
        const error = await test.drain({ timeout: 30 }).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({
          code: "wait_timeout",
          message: expect.stringMatching(/a of q.* after 30 ms/),
        });
      },
    },
  },
});

it("an unknown group has no letters, and a change of them changes nothing", async () => {
  await using test = await openTest();
  await fail(test.redrive);
  const letters = test.redrive.queue("q").letters({ group: "no such group" });
  expect(await letters.count()).toBe(0);
  expect(await all(test.redrive.letters({ group: "0123456789abcdef" }))).toEqual([]);
  expect(await letters.retry()).toMatchObject({ selected: 0 });
  expect(await test.redrive.queue("q").letters().count()).toBeGreaterThan(0);
});
