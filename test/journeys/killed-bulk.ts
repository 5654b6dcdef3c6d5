/**
 * Bulk commands that are killed in the middle: the store's write lock is taken away from them between two of their
 * steps, so that it is certain that they are in the middle, and then they are killed with SIGKILL.
 */
import { DatabaseSync } from "@photostructure/sqlite";
import { openStore } from "../../src/engines/open.ts";
import type { Operation } from "../../src/item/operation.ts";
import { QUEUE, sampleLetter } from "../redrive/sample-letters.ts";
import { CLI_PATH } from "../support/cli.ts";
import { upTo, type Workshop } from "./workshop.ts";

/** How a script in a test calls the command line. */
export const CLI = `"${process.execPath}" "${CLI_PATH}"`;

/** Letters `o1` to `on`, whose data is `{n}`, in a job that has no work of its own. */
export async function importLetters(shop: Workshop, count: number): Promise<void> {
  const engine = await openStore(`sqlite:${shop.storePath}`);
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "imported", spec: {} });
  await engine.importLetters(
    QUEUE,
    upTo(count).map((n) => sampleLetter({ itemId: `o${n}`, itemData: { n } })),
  );
  await engine.close();
}

/** Starts the command, and kills it when the operation has done at least so many letters, but not all. */
export async function killedInBetween(
  shop: Workshop,
  args: readonly string[],
  { atLeast = 1 }: { readonly atLeast?: number } = {},
): Promise<Operation> {
  const running = shop.start(args, { stdin: "" });
  let hasEnded = false;
  void running.ended.then(() => {
    hasEnded = true;
  });
  const engine = await openStore(`sqlite:${shop.storePath}`);
  const db = new DatabaseSync(shop.storePath);
  db.exec("PRAGMA busy_timeout = 1000");
  const isInTheMiddle = async () => {
    const [operation] = await engine.listOperations({ open: true });
    return operation !== undefined && operation.done >= atLeast && operation.done < operation.selected;
  };
  for (;;) {
    db.exec("BEGIN IMMEDIATE"); // while it is ours, nobody goes on
    if (await isInTheMiddle()) break;
    db.exec("ROLLBACK");
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (hasEnded) throw new Error(`the command ended before it was killed: ${running.stderr}`);
  }
  running.signal("SIGKILL");
  await running.ended;
  db.close();
  await engine.close();
  return onlyOpen(shop);
}

/** The operation that has not ended. */
export async function onlyOpen(shop: Workshop): Promise<Operation> {
  const engine = await openStore(`sqlite:${shop.storePath}`);
  const [operation, ...more] = await engine.listOperations({ open: true });
  await engine.close();
  if (operation === undefined || more.length > 0) throw new Error("not one operation is open");
  return operation;
}
