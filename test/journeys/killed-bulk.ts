/**
 * Bulk commands that are killed or interrupted in the middle: their steps are slowed down, so that there is one.
 */
import { openStore } from "../../src/engines/open.ts";
import type { Operation } from "../../src/item/operation.ts";
import { QUEUE, sampleLetter } from "../redrive/sample-letters.ts";
import { CLI_PATH, type CliResult } from "../support/cli.ts";
import { until } from "../support/until.ts";
import { slowStepsAfter } from "./slow-steps.ts";
import { upTo, type Workshop } from "./workshop.ts";

/** How a script in a test calls the command line. */
export const CLI = `"${process.execPath}" "${CLI_PATH}"`;

/** Letters `o1` to `on`, whose data is `{n}`, in a job that has no work of its own. */
export async function importLetters(shop: Workshop, count: number): Promise<void> {
  const engine = await openStore(shop.storeUrl);
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "imported", spec: {} });
  await engine.importLetters(
    QUEUE,
    upTo(count).map((n) => sampleLetter({ itemId: `o${n}`, itemData: { n } })),
  );
  await engine.close();
}

/**
 * Starts the command, and kills it when the operation has processed at least the given number of letters, but not
 * all.
 */
export async function killedInBetween(
  shop: Workshop,
  args: readonly string[],
  { atLeast = 1 }: { readonly atLeast?: number } = {},
): Promise<Operation> {
  await signalledInBetween(shop, args, { atLeast, signal: "SIGKILL" });
  return onlyOpen(shop);
}

/** Starts the command, and presses Ctrl-C when the operation has processed some of its letters, but not all. */
export function interruptedInBetween(shop: Workshop, args: readonly string[]): Promise<CliResult> {
  return signalledInBetween(shop, args, { atLeast: 1, signal: "SIGINT" });
}

async function signalledInBetween(
  shop: Workshop,
  args: readonly string[],
  { atLeast, signal }: { readonly atLeast: number; readonly signal: NodeJS.Signals },
): Promise<CliResult> {
  const quickAgain = await slowStepsAfter(shop, atLeast);
  const running = shop.start(args, { stdin: "" });
  const engine = await openStore(shop.storeUrl);
  let hasEnded = false;
  void running.ended.then(() => {
    hasEnded = true;
  });
  await until("the command is in the middle of its work", async () => {
    if (hasEnded) throw new Error(`the command ended before the signal: ${running.stderr}`);
    const [operation] = await engine.listOperations({ open: true });
    return operation !== undefined && operation.done >= atLeast && operation.done < operation.selected;
  });
  running.signal(signal);
  const ended = await running.ended;
  await engine.close();
  await quickAgain();
  return ended;
}

/** The unfinished operation. */
export async function onlyOpen(shop: Workshop): Promise<Operation> {
  const engine = await openStore(shop.storeUrl);
  const [operation, ...more] = await engine.listOperations({ open: true });
  await engine.close();
  if (operation === undefined || more.length > 0) throw new Error("not one operation is open");
  return operation;
}
