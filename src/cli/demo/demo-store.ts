/**
 * Fills an in-memory store with a day of realistic failures for `redrive demo --console`: an outage that
 * ends, customers without data, a release that changed a format, a regression. Workers keep running, so that
 * retries really succeed or fail again, and a map runs, to show live progress.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Target } from "../../delivery/target.ts";
import type { Engine } from "../../engine.ts";
import { openStore } from "../../engines/open.ts";
import { addItems } from "../../queue/add-items.ts";
import { requireQueue } from "../../queue/find-job.ts";
import { createQueue } from "../../queue/queue-settings.ts";
import { putSchedule } from "../../queue/schedules.ts";
import { Worker } from "../../queue/worker.ts";
import { assignGroups } from "../../redrive/assignees.ts";
import { discardLetters } from "../../redrive/discard.ts";
import { detachLetters } from "../../run/retry.ts";
import { runThumbnails } from "./demo-job.ts";
import { type PastClock, pastClock } from "./past-clock.ts";
import { calm, mailing, mailOf, type OrderKind, orderOf, paying, type Weather } from "./shop.ts";

/** The outage ends after this time; a retry of its letters then succeeds. */
const OUTAGE_MS = 20_000;

/** Orders that arrived in the same hour, the problems at that time, and what was done about them later. */
interface Hour extends OrderKind {
  readonly hoursAgo: number;
  readonly orders: number;
  readonly mails?: number;
  readonly weather?: Partial<Weather>;
  after?(history: History): Promise<void>;
}

const FOREVER = Number.POSITIVE_INFINITY;
const BANK_DOWN: Partial<Weather> = { bankIsDownUntil: FOREVER };

const DAY: readonly Hour[] = [
  { hoursAgo: 23.5, orders: 8, mails: 4 },
  { hoursAgo: 22, orders: 18, weather: { isVaultDown: true } },
  { hoursAgo: 21, orders: 6, mails: 6, after: (history) => history.retry("ETIMEDOUT", "The vault is back.") },
  ...[20, 19, 18, 17, 16].map((hoursAgo) => ({ hoursAgo, orders: 5, mails: 2 })),
  { hoursAgo: 15, orders: 6, isLoadTest: true },
  {
    hoursAgo: 14,
    orders: 7,
    mails: 4,
    after: (history) => history.discard("XTS", "orders of the load test"),
  },
  ...[12, 10, 9, 8, 7, 6].map((hoursAgo) => ({ hoursAgo, orders: 6, mails: 4 })),
  ...[5, 4, 3, 2].map((hoursAgo) => ({ hoursAgo, orders: 14, mails: 4, isNewImporter: true })),
  { hoursAgo: 1.4, orders: 9, mails: 3, weather: { isVaultDown: true } },
  ...[0.7, 0.4, 0.2, 0.1, 0.02].map((hoursAgo) => {
    return { hoursAgo, orders: 9, mails: 2, isSpanishSale: true, weather: BANK_DOWN };
  }),
];

export interface DemoStore {
  readonly engine: Engine;
  /** The folder for the logs of the map. Removed when the demo ends. */
  readonly home: string;
  close(): Promise<void>;
}

export async function openDemoStore(): Promise<DemoStore> {
  const clock = pastClock();
  clock.moveTo(24);
  const engine = await openStore("memory:", { clock });
  const home = mkdtempSync(join(tmpdir(), "redrive-demo-"));
  const target = await fill(engine, clock);
  const workers = [
    new Worker(engine, "payments", {
      clock,
      handler: paying({ ...calm, bankIsDownUntil: Date.now() + OUTAGE_MS }),
      concurrency: 4,
    }),
    new Worker(engine, "mails", { clock, handler: mailing, concurrency: 2 }),
  ];
  const thumbnails = runThumbnails({ engine, home, clock });
  return {
    engine,
    home,
    close: async () => {
      await Promise.all([...workers.map((worker) => worker.stop()), thumbnails.stop(), target.close()]);
      await engine.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function fill(engine: Engine, clock: PastClock): Promise<Target> {
  const backoff = { kind: "fixed", delayMs: 10, jitter: false } as const;
  await createQueue(engine, "payments", { maxRetries: 1, backoff, description: "Charges orders" });
  await createQueue(engine, "mails", { maxRetries: 0, description: "Sends confirmations" });
  await createQueue(engine, "reports", {});
  await putSchedule(engine, "nightly-report", {
    queue: "reports",
    cron: "0 3 * * *",
    timezone: "Europe/Lisbon",
  });
  const history = new History(engine, clock);
  for (const hour of DAY) await history.live(hour);
  await history.assign("VAT", "Asked support to call these customers.");
  clock.moveTo(0);
  return sendReceipts(engine, clock);
}

const AUTHOR = "maria";

class History {
  readonly #engine: Engine;
  readonly #clock: PastClock;
  #orders = 0;
  #mails = 0;

  constructor(engine: Engine, clock: PastClock) {
    this.#engine = engine;
    this.#clock = clock;
  }

  async live({ hoursAgo, orders, mails = 0, weather = {}, after, ...kind }: Hour): Promise<void> {
    this.#clock.moveTo(hoursAgo);
    const [engine, clock] = [this.#engine, this.#clock];
    const newOrders = Array.from({ length: orders }, (_, index) => orderOf(this.#orders + index, kind));
    const newMails = Array.from({ length: mails }, (_, index) => mailOf(this.#mails + index));
    this.#orders += orders;
    this.#mails += mails;
    await addItems(engine, "payments", newOrders);
    if (mails > 0) await addItems(engine, "mails", newMails);
    await after?.(this);
    const common = { clock, untilEmpty: true };
    await new Worker(engine, "payments", { ...common, handler: paying({ ...calm, ...weather }) }).ended;
    if (mails > 0) await new Worker(engine, "mails", { ...common, handler: mailing }).ended;
  }

  async retry(words: string, reason: string): Promise<void> {
    const job = await requireQueue(this.#engine, "payments");
    await detachLetters(this.#engine, { ...(await this.#request(words)), job, reason });
  }

  async discard(words: string, reason: string): Promise<void> {
    await discardLetters(this.#engine, { ...(await this.#request(words)), reason });
  }

  async assign(words: string, note: string): Promise<void> {
    const signature = await this.#signatureOf(words);
    await this.#engine.changeGroup(signature, { author: AUTHOR, note });
    await assignGroups(this.#engine, [{ signature }], { assignee: AUTHOR, author: AUTHOR });
  }

  async #request(words: string) {
    const group = await this.#signatureOf(words);
    return { queue: "payments", author: AUTHOR, selection: { filter: { signatures: [group] } } };
  }

  async #signatureOf(words: string): Promise<string> {
    const groups = await this.#engine.listGroups({});
    return groups.find(({ pattern }) => pattern.includes(words))?.signature ?? "";
  }
}

const RECEIPTS = 40;

/** Three receivers do not exist, so their receipts become letters. */
async function sendReceipts(engine: Engine, clock: PastClock): Promise<Target> {
  const target = new Target(engine, "billing", {
    clock,
    protocol: "function",
    retries: 0,
    description: "Receipts of paid orders",
    deliver: (receipt) => {
      const { customer } = receipt as { readonly customer: number };
      if (customer % 13 === 0)
        throw Object.assign(new Error(`customer ${customer} does not exist`), { status: 404 });
    },
  });
  await target.opened;
  const receipts = Array.from({ length: RECEIPTS }, (_, index) => ({
    order: 10_400 + index,
    customer: 700 + index,
  }));
  await Promise.all(receipts.map((receipt) => target.send(receipt)));
  return target;
}
