/** `redrive logs`: what an attempt of an item, or a phase of a workflow, wrote, as it was. */
import { createReadStream, existsSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { Engine } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import type { Attempt, Item } from "../../item/item.ts";
import type { Job } from "../../item/job.ts";
import { requireJob } from "../../job/find-job.ts";
import { jobLogs } from "../../job/home.ts";
import { PHASES } from "../../job/workflow-spec.ts";
import type { JsonObject } from "../../kit/json.ts";
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
  const found = await context.withStore(async (engine) => {
    const job = await requireJob(engine, jobName);
    return (
      (await findPhase(context, engine, job, itemName)) ?? (await findAttempt(engine, job, itemName, number))
    );
  });
  if (context.isJson) context.answer(found, () => "");
  else await print(context, found.log);
  return EXIT.done;
}

/** What is printed, and what it is. */
type Found = { readonly log: string } & JsonObject;

/** A phase of a workflow is asked for by its name, unless an item has that name. */
async function findPhase(
  { home }: Context,
  engine: Engine,
  job: Job,
  name: string,
): Promise<Found | undefined> {
  if (job.kind !== "workflow" || !WITH_LOG.includes(name)) return undefined;
  const items = await engine.findItems(name, { queue: job.id, limit: 1 });
  if (items.some((item) => item.itemId === name)) return undefined;
  const log = jobLogs(home, job.id).phase(name);
  if (existsSync(log)) return { phase: name, log };
  throw new WorkError("log_not_found", `The ${name} phase of ${job.id} left no output.`);
}

const WITH_LOG: readonly string[] = PHASES.filter((phase) => phase !== "map" && phase !== "ended");

async function findAttempt(
  engine: Engine,
  job: Job,
  itemName: string,
  number: number | undefined,
): Promise<Found> {
  const item = await requireItem(engine, itemName, job.id);
  const attempt = choose(item, await engine.listAttempts(item.ref), number);
  const { log, outcome } = attempt;
  if (log !== undefined) return { item_id: item.itemId, attempt: attempt.number, outcome, log };
  throw new WorkError(
    "log_not_found",
    `Attempt ${attempt.number} of ${item.itemId} (${outcome}) left no output.`,
  );
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
