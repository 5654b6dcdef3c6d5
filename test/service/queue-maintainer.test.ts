/** Looking after the letters of a queue beside its workers: one worker at a time, and never in the way. */
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import { addItems } from "../../src/queue/add-items.ts";
import { requireJob } from "../../src/queue/find-job.ts";
import { createQueue } from "../../src/queue/queue-settings.ts";
import { detachLetters } from "../../src/run/retry.ts";
import { type MaintenanceOptions, queueMaintainer } from "../../src/service/queue-maintainer.ts";
import type { Service } from "../../src/service/service.ts";
import { buried, retried, succeeded } from "../support/settlements.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { TestClock } from "../support/test-clock.ts";
import { until } from "../support/until.ts";

const temporary = new TemporaryDirectory();
afterAll(() => temporary.remove());

const QUEUE = "invoices";
const LOOK_MS = 3000;
let clock: TestClock;
let engine: Engine;
let notices: string[];
let holder: string;

beforeEach(async () => {
  clock = new TestClock();
  engine = await openStore("memory:", { clock });
  notices = [];
  await createQueue(engine, QUEUE);
  const place = { host: "h", pid: 1, processStart: "", ttlMs: 1e12 };
  holder = (await engine.registerHolder({ id: "w1", queue: QUEUE, ...place })).id;
});

async function open(options: MaintenanceOptions = {}): Promise<Service> {
  const job = await requireJob(engine, QUEUE);
  const surroundings = { engine, home: temporary.file("home"), clock };
  return queueMaintainer(options)(job, { ...surroundings, onNotice: (notice) => notices.push(notice) });
}

/** Leases what is ready and settles each in the given way. */
async function settleAll(settle: typeof buried | typeof succeeded): Promise<void> {
  const lease = { queue: QUEUE, max: 100 };
  const { leased } = await engine.settleAndLease(holder, { settle: [], lease });
  await engine.settleAndLease(holder, { settle: leased.map((item) => settle(item)) });
}

async function bury(...keys: string[]): Promise<void> {
  await addItems(
    engine,
    QUEUE,
    keys.map((key) => ({ key, data: { key } })),
  );
  await settleAll(buried);
}

/** It looks again only some time after a look has ended, so the clock goes on until it has. */
async function look(what: string, condition: () => Promise<boolean>): Promise<void> {
  await until(what, async () => {
    if (await condition()) return true;
    clock.advance(LOOK_MS);
    return false;
  });
}

describe("the maintainer of a queue", () => {
  it("takes back the letters of a cancelled redrive that wait for another try", async () => {
    await bury("a");
    const job = await requireJob(engine, QUEUE);
    const sent = await detachLetters(engine, { job, selection: { filter: {} }, author: "ann", force: true });
    const { leased } = await engine.settleAndLease(holder, { settle: [], lease: { queue: QUEUE, max: 1 } });
    await engine.changeOperation(sent.id, { status: "cancelled" });
    await engine.settleAndLease(holder, { settle: leased.map((item) => retried(item)) });
    const maintainer = await open();
    await look("it has ended", async () => (await engine.findOperation(sent.id))?.endedAt !== undefined);
    expect((await engine.listLetters({ queue: QUEUE, states: ["dead"], limit: 1 })).total).toBe(1);
    await maintainer.stop();
  });

  it("archives letters beyond the limit and the retention, and reports it", async () => {
    await bury("a", "b", "c");
    const maintainer = await open({ limits: { itemsMax: 2, retentionMs: 86_400_000 } });
    await look("one is gone", async () => (await engine.count(QUEUE)).evicted === 1);
    clock.advance(2 * 86_400_000);
    await look("the others are too old", async () => (await engine.count(QUEUE)).purged === 2);
    await until("it was told", async () => notices.some((text) => text.includes("too old")));
    await maintainer.stop();
    expect(notices.join("\n")).toMatch(/too many: 1\./);
  });

  it("keeps the limits of a worker that ends before the first check", async () => {
    await bury("old");
    clock.advance(2 * 86_400_000);
    await bury("a", "b", "c");
    const maintainer = await open({ limits: { itemsMax: 2, retentionMs: 86_400_000 } });
    await maintainer.stop();
    expect(await engine.count(QUEUE)).toMatchObject({ letters: 2, purged: 1, evicted: 1 });
  });

  it("applies the automatic fixes as letters arrive, and redrives what they changed", async () => {
    const change = { kind: "patch", patch: { fixed: true } } as const;
    const rule = { name: "mend", auto: true, usesMax: 1, match: { filter: {} }, change } as never;
    const maintainer = await open({ fixes: [rule] });
    await bury("a");
    await look("it is ready again", async () => (await engine.count(QUEUE)).ready === 1);
    const [item] = await engine.listItems({ queue: QUEUE, limit: 1 });
    expect(item).toMatchObject({ data: { key: "a", fixed: true }, revision: 2 });
    await settleAll(succeeded);
    const letter = await engine.readLetter(item?.ref ?? 0);
    expect(letter?.resolution).toMatchObject({ kind: "auto_fix" });
    await maintainer.stop();
  });

  it("runs in one worker at a time, and another takes over when that is gone or silent", async () => {
    const first = await open({ limits: { itemsMax: 0, retentionMs: null } });
    await look(
      "the first has its turn",
      async () => (await engine.readDocument(`leader/maintenance/${QUEUE}`)) !== null,
    );
    const { body } = (await engine.readDocument(`leader/maintenance/${QUEUE}`)) ?? {};
    const second = await open();
    await look("it is still the first's", async () => {
      const now = (await engine.readDocument(`leader/maintenance/${QUEUE}`))?.body as {
        by: string;
        until: number;
      };
      return now.by === (body as { by: string }).by && now.until > (body as { until: number }).until;
    });
    await first.stop();
    await look("it is the second's", async () => {
      const now = (await engine.readDocument(`leader/maintenance/${QUEUE}`))?.body as { by: string };
      return now.by !== (body as { by: string }).by;
    });
    await second.stop();
  });
});
