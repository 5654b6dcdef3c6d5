/** The fixture of the journeys of receipts: a shop with its own server and the target `gate`. */
import { readFileSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import { type Answer, ReceiptServer } from "../delivery/receipt-server.ts";
import { asJsonLines, openWorkshop, upTo, type Workshop } from "./workshop.ts";

export type SentJson = {
  readonly sent: number;
  readonly delivered: number;
  readonly dead: number;
  readonly waiting: number;
  readonly conflicts: number;
  readonly receipts: readonly { readonly key: string; readonly outcome: string; readonly is_new: boolean }[];
};
export type TargetJson = {
  readonly name: string;
  readonly is_paused: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly is_new?: boolean;
  readonly is_changed?: boolean;
};
export type EntryJson = { readonly receipt: unknown; readonly failed_at: string; readonly attempts: number };

/** A shop with a server, and the target `gate` at its address. */
export async function openGate(...settings: string[]): Promise<{ shop: Workshop; server: ReceiptServer }> {
  const shop = openWorkshop();
  const server = await openServer();
  const made = await shop.run([
    "receipts",
    "target",
    "gate",
    "--url",
    server.url,
    "--backoff-base",
    "0",
    ...settings,
  ]);
  expect(made.stderr).toContain("redrive receipts send gate");
  expect(made.code).toBe(0);
  return { shop, server };
}

export async function openServer(): Promise<ReceiptServer> {
  const server = await ReceiptServer.open();
  onTestFinished(() => server.close());
  return server;
}

export const receipt = (n: number) => ({ lease_id: "l-1", task_id: `t-${n}`, status: "complete" });
export const send = (shop: Workshop, ...flags: string[]) => shop.run(["receipts", "send", "gate", ...flags]);
export const sendOne = (shop: Workshop, n: number, ...flags: string[]) =>
  send(shop, "--data", JSON.stringify(receipt(n)), ...flags);
export const sendMany = (shop: Workshop, count: number, ...flags: string[]) =>
  shop.run(["receipts", "send", "gate", ...flags], { stdin: asJsonLines(upTo(count).map(receipt)) });
export const target = (shop: Workshop) => shop.json<TargetJson>("receipts", "target", "gate");
export const recover = (shop: Workshop, ...flags: string[]) =>
  shop.run(["receipts", "recover", "gate", ...flags]);
export const entriesIn = (path: string) => JSON.parse(readFileSync(path, "utf8")) as readonly EntryJson[];
export const REFUSED: Answer = { status: 422, body: { error: "no such task" } };
/** An address without a server. */
export const NOWHERE = "http://127.0.0.1:9/complete";

export async function metrics(shop: Workshop, prefix = "cognigate"): Promise<Record<string, number>> {
  const { stdout } = await shop.run(["metrics", "--metrics-prefix", prefix]);
  const lines = stdout.split("\n").filter((line) => line.startsWith(prefix));
  return Object.fromEntries(lines.map((line) => [line.replace(/ \S+$/, ""), Number(/\S+$/.exec(line)?.[0])]));
}
