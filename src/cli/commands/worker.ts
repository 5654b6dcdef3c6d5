/** `redrive worker`: works queues with a command, and helps with the items of jobs. */
import { availableParallelism } from "node:os";
import { compileCommand, refuseEmptiedArgument } from "../../attempt/template.ts";
import { WorkError } from "../../errors.ts";
import { DEFAULT_GRACE_MS } from "../../job/map-spec.ts";
import { parseDuration } from "../../kit/duration.ts";
import { parseRate } from "../../redrive/pace.ts";
import type { Context } from "../context.ts";
import { dueWithinOption } from "../due-bound.ts";
import { words } from "../list-words.ts";
import { countOption } from "../option.ts";
import { noCommand, type WorkerPlan, workForPerson } from "../work-for-person.ts";

interface WorkerFlags {
  readonly queue?: readonly string[];
  readonly job?: readonly string[];
  readonly concurrency?: string;
  readonly timeout?: string;
  readonly grace?: string;
  readonly rate?: string;
  readonly name?: string;
  readonly onFailureCommand?: string;
  readonly allowOptions?: boolean;
  readonly keepEvidence?: boolean;
  readonly storeWait?: string;
  readonly quiet?: boolean;
  readonly drain?: boolean;
  readonly dueWithin?: string;
  readonly drainTimeout?: string;
}

export async function worker(context: Context, command: string[], flags: WorkerFlags): Promise<number> {
  const jobs = words(flags.job) ?? [];
  const needsCommand = flags.queue !== undefined || jobs.length === 0;
  if (needsCommand && command.length === 0 && flags.queue === undefined) throw noCommand();
  if (!needsCommand && command.length > 0) {
    throw new WorkError("usage", "The items of a job are worked with the job's own command.", {
      hint: "Leave the command away, or name the queue that it is for with --queue.",
    });
  }
  compileCommand(command);
  refuseEmptiedArgument(command);
  return workForPerson(context, planFrom(command, { ...flags, jobs, needsCommand }));
}

function planFrom(
  command: readonly string[],
  flags: WorkerFlags & { readonly jobs: readonly string[]; readonly needsCommand: boolean },
): WorkerPlan {
  const slots = countOption("--concurrency", flags.concurrency, 1);
  const duration = (name: string, text: string | undefined, otherwise: number) =>
    text === undefined ? otherwise : parseDuration(text, name);
  const rate = flags.rate === undefined ? undefined : parseRate(flags.rate, "--rate");
  return {
    command,
    queues: flags.needsCommand ? (words(flags.queue) ?? "the only one") : [],
    jobs: flags.jobs,
    slots: slots ?? availableParallelism(),
    ...(slots !== undefined && { jobSlots: slots }),
    graceMs: duration("--grace", flags.grace, DEFAULT_GRACE_MS),
    drainMs: duration("--drain-timeout", flags.drainTimeout, 30_000),
    storeWaitMs: duration("--store-wait", flags.storeWait, Number.POSITIVE_INFINITY),
    allowOptions: flags.allowOptions ?? false,
    keepEvidence: flags.keepEvidence ?? false,
    untilEmpty: flags.drain ?? false,
    dueWithinMs: dueWithinOption(flags),
    isQuiet: flags.quiet ?? false,
    ...(flags.timeout !== undefined && { timeoutMs: parseDuration(flags.timeout, "--timeout") }),
    ...(rate && { rate: { perSecond: (rate.letters * 1000) / rate.perMs } }),
    ...(flags.name !== undefined && { name: flags.name }),
    ...(flags.onFailureCommand !== undefined && { failureCommand: flags.onFailureCommand }),
  };
}
