/** `redrive logs`: what an attempt of an item wrote, as it was. */
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { WorkError } from "../../errors.ts";
import type { Attempt, Item } from "../../item/item.ts";
import { requireJob } from "../../job/find-job.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requireItem } from "../find.ts";
import { countOption } from "../option.ts";

export async function logs(
  context: Context,
  jobName: string,
  itemName: string,
  flags: { attempt?: string },
): Promise<number> {
  const number = countOption("--attempt", flags.attempt, 1);
  const { item, attempt } = await context.withStore(async (engine) => {
    const job = await requireJob(engine, jobName);
    const found = await requireItem(engine, itemName, job.id);
    return { item: found, attempt: choose(found, await engine.listAttempts(found.ref), number) };
  });
  const { log, outcome } = attempt;
  if (log === undefined) {
    throw new WorkError(
      "log_not_found",
      `Attempt ${attempt.number} of ${item.itemId} (${outcome}) left no output.`,
    );
  }
  if (context.isJson)
    context.answer({ item_id: item.itemId, attempt: attempt.number, outcome, log }, () => "");
  else await print(context, log);
  return EXIT.done;
}

function choose(item: Item, attempts: readonly Attempt[], number: number | undefined): Attempt {
  const withOutput = attempts.filter((attempt) => attempt.log !== undefined);
  const chosen =
    number === undefined
      ? (withOutput.at(-1) ?? attempts.at(-1))
      : attempts.find((attempt) => attempt.number === number);
  if (chosen !== undefined) return chosen;
  const had = `It has had ${attempts.length === 1 ? "1 attempt" : `${attempts.length} attempts`}.`;
  throw new WorkError("log_not_found", `Item ${item.itemId} has no attempt ${number ?? ""}. ${had}`);
}

async function print({ terminal }: Context, log: string): Promise<void> {
  try {
    await pipeline(createReadStream(log), terminal.stdout, { end: false });
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
    if (code === "EPIPE") return; // its reader has seen enough
    if (code === "ENOENT") {
      throw new WorkError("log_not_found", `The log ${log} is not there any more.`, { cause: error });
    }
    throw error;
  }
}
