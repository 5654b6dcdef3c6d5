/**
 * Fills a store in memory with believable failures for `redrive demo --console`: an outage that ends, customers without data,
 * a schema that changed, a bug with a stack trace. A worker keeps running, so that retries really succeed or fail again.
 */
import type { Engine } from "../engine.ts";
import { addItems } from "../queue/add-items.ts";
import { createQueue } from "../queue/queue-settings.ts";
import { Worker } from "../queue/worker.ts";
import { PermanentError } from "../retry/thrown.ts";
import type { Json } from "../std/json.ts";

interface Order {
  readonly order: number;
  readonly total: number | string;
  readonly country: string;
  readonly vat?: string;
}

const COUNTRIES = ["PT", "PT", "PT", "ES", "DE"] as const;
const ORDERS = 240;
const MAILS = 60;

/** The outage ends after this time, so that a retry of its letters succeeds. */
const OUTAGE_MS = 20_000;

export interface DemoStore {
  stop(): Promise<void>;
}

export async function fillDemoStore(engine: Engine): Promise<DemoStore> {
  await createQueue(engine, "payments", {
    maxRetries: 1,
    backoff: { kind: "fixed", delayMs: 50, jitter: false },
  });
  await createQueue(engine, "mails", { maxRetries: 0 });
  const workers = [
    new Worker(engine, "payments", { handler: paying(Date.now() + OUTAGE_MS), concurrency: 4 }),
    new Worker(engine, "mails", { handler: mailing, concurrency: 2 }),
  ];
  await addItems(
    engine,
    "payments",
    Array.from({ length: ORDERS }, (_, index) => orderOf(index)),
  );
  await addItems(
    engine,
    "mails",
    Array.from({ length: MAILS }, (_, index) => mailOf(index)),
  );
  return { stop: async () => void (await Promise.all(workers.map((worker) => worker.stop()))) };
}

function orderOf(index: number): { readonly key: string; readonly data: Json } {
  const order = 10_400 + index;
  const country = COUNTRIES[index % COUNTRIES.length] ?? "PT";
  const total = index % 23 === 0 ? `${index},90` : index * 3 + 0.9;
  return {
    key: `order-${order}`,
    data: { order, total, country, ...(index % 11 !== 0 && { vat: `${country}${order}` }) },
  };
}

function mailOf(index: number): { readonly key: string; readonly data: Json } {
  const to = index % 7 === 0 ? `ann.${index}@example.org ` : `ann.${index}@example.org`;
  return { key: `mail-${index}`, data: { to, subject: `Your order ${10_400 + index}` } };
}

type Handle = ConstructorParameters<typeof Worker>[2]["handler"];

function paying(outageEndsAt: number): Handle {
  return async ({ data }, { attempt, note }) => {
    const { order, total, country, vat } = data as unknown as Order;
    if (vat === undefined)
      throw thrownIn("invoice", new PermanentError(`customer of order ${order} has no VAT id`));
    if (typeof total !== "number")
      throw thrownIn("formatTotal", new TypeError("order.total.toFixed is not a function"));
    if (country === "ES" && Date.now() < outageEndsAt) {
      const error = new Error("POST https://pay-es.example/charge answered 502 Bad Gateway");
      throw thrownIn("chargeCard", Object.assign(error, { status: 502 }));
    }
    if (attempt > 1) note("Paid at the second attempt.");
    return { kind: "succeeded", result: { paid: total } };
  };
}

const mailing: Handle = async ({ data }) => {
  const { to } = data as { readonly to: string };
  if (to === to.trim()) return { kind: "succeeded" };
  throw thrownIn("deliver", new Error(`Recipient address rejected: <${to}>`));
};

/** Gives the error a stack trace from the demo shop instead of this program. */
function thrownIn<Failure extends Error>(place: string, error: Failure): Failure {
  const frames = [`${place} (/srv/shop/src/${place}.js:42:11)`, "processItem (/srv/shop/src/worker.js:18:5)"];
  error.stack = [String(error), ...frames.map((frame) => `    at ${frame}`)].join("\n");
  return error;
}
