/** The shop of the demo: its orders and its workers. Each failure has a realistic cause. */

import type { Worker } from "../../queue/worker.ts";
import { PermanentError } from "../../retry/thrown.ts";
import type { Json } from "../../std/json.ts";

export type Handle = ConstructorParameters<typeof Worker>[2]["handler"];

export interface ShopItem {
  readonly key: string;
  readonly data: Json;
}

interface Order {
  readonly order: number;
  readonly total: number | string;
  readonly currency: string;
  readonly country: string;
  readonly vat?: string;
}

/** The current problems of the shop's services. */
export interface Weather {
  /** The vault with the card tokens does not answer. */
  isVaultDown: boolean;
  /** Until this time, the Spanish bank answers 502. */
  bankIsDownUntil: number;
}

export const calm: Weather = { isVaultDown: false, bankIsDownUntil: 0 };

const COUNTRIES = ["PT", "PT", "PT", "ES", "DE"] as const;
const FIRST_ORDER = 10_400;

export interface OrderKind {
  /** A new release of the importer writes totals as strings. */
  readonly isNewImporter?: boolean;
  /** There is a sale in Spain only. */
  readonly isSpanishSale?: boolean;
  /** The orders come from a load test. */
  readonly isLoadTest?: boolean;
}

export function orderOf(index: number, kind: OrderKind): ShopItem {
  const { isNewImporter = false, isSpanishSale = false, isLoadTest = false } = kind;
  const order = FIRST_ORDER + index;
  const country = isSpanishSale ? "ES" : (COUNTRIES[index % COUNTRIES.length] ?? "PT");
  const amount = (index * 37) % 480;
  const data: Order = {
    order,
    total: isNewImporter && index % 7 === 0 ? `${amount},90` : amount + 0.9,
    currency: isLoadTest ? "XTS" : "EUR",
    country,
    ...((index % 11 !== 0 || isLoadTest) && { vat: `${country}${order}` }),
  };
  return { key: `order-${order}`, data: { ...data } };
}

export function mailOf(index: number): ShopItem {
  const to = index % 7 === 0 ? `ann.${index}@example.org ` : `ann.${index}@example.org`;
  return { key: `mail-${index}`, data: { to, subject: `Your order ${FIRST_ORDER + index}` } };
}

export function paying(weather: Weather): Handle {
  return async ({ data }, { attempt, note }) => {
    const { order, total, currency, country, vat } = data as unknown as Order;
    if (currency === "XTS")
      throw thrownIn("chargeCard", new PermanentError(`currency XTS of order ${order} is not supported`));
    if (vat === undefined)
      throw thrownIn("invoice", new PermanentError(`customer of order ${order} has no VAT id`));
    if (typeof total !== "number")
      throw thrownIn("formatTotal", new TypeError("order.total.toFixed is not a function"));
    if (weather.isVaultDown && order % 2 === 0)
      throw thrownIn("readCardToken", new Error("connect ETIMEDOUT vault.internal:8200"));
    if (country === "ES" && Date.now() < weather.bankIsDownUntil) {
      const error = new Error("POST https://pay-es.example/charge answered 502 Bad Gateway");
      throw thrownIn("chargeCard", Object.assign(error, { status: 502 }));
    }
    if (attempt > 1) note("Paid at the second attempt.");
    return { kind: "succeeded", result: { paid: total } };
  };
}

export const mailing: Handle = async ({ data }) => {
  const { to } = data as { readonly to: string };
  if (to === to.trim()) return { kind: "succeeded" };
  throw thrownIn("deliver", new Error(`Recipient address rejected: <${to}>`));
};

/** Gives the error a stack trace from the demo shop instead of this program. */
function thrownIn<Failure extends Error>(place: string, error: Failure): Failure {
  const frames = [
    `${place} (/srv/shop/src/${place}.js:42:11)`,
    "processItem (/srv/shop/src/worker.js:18:5)",
    "run (/srv/shop/node_modules/redrive/dist/worker.js:96:20)",
    "process.processTicksAndRejections (node:internal/process/task_queues:103:5)",
  ];
  error.stack = [String(error), ...frames.map((frame) => `    at ${frame}`)].join("\n");
  return error;
}
