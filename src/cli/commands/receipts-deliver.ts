/** `redrive receipts deliver`: delivers what waits for targets, until a signal comes or nothing waits. */
import { DELIVERY_SLOTS } from "../../job/target-work.ts";
import { parseDuration } from "../../kit/duration.ts";
import { parseRate } from "../../redrive/pace.ts";
import type { Context } from "../context.ts";
import { dueWithinOption } from "../due-bound.ts";
import { countOption } from "../option.ts";
import { mirrorPath } from "../recover-for-person.ts";
import { workForPerson } from "../work-for-person.ts";

interface DeliverFlags {
  readonly concurrency?: string;
  readonly rate?: string;
  readonly drain?: boolean;
  readonly dueWithin?: string;
  readonly drainTimeout?: string;
  readonly storeWait?: string;
  readonly quiet?: boolean;
  readonly mirror?: string;
  readonly autoRecover?: boolean;
}

export async function receiptsDeliver(
  context: Context,
  targets: string[],
  flags: DeliverFlags,
): Promise<number> {
  const rate = flags.rate === undefined ? undefined : parseRate(flags.rate, "--rate");
  const duration = (name: string, text: string | undefined, otherwise: number) =>
    text === undefined ? otherwise : parseDuration(text, name);
  return workForPerson(context, {
    command: [],
    queues: [],
    targets: targets.length === 0 ? "all" : targets,
    jobs: [],
    slots: countOption("--concurrency", flags.concurrency, 1) ?? DELIVERY_SLOTS,
    graceMs: 0,
    allowOptions: false,
    keepEvidence: false,
    drainMs: duration("--drain-timeout", flags.drainTimeout, 30_000),
    storeWaitMs: duration("--store-wait", flags.storeWait, Number.POSITIVE_INFINITY),
    untilEmpty: flags.drain ?? false,
    dueWithinMs: dueWithinOption(flags),
    isQuiet: flags.quiet ?? false,
    autoRecover: flags.autoRecover ?? true,
    ...(rate && { rate: { perSecond: (rate.letters * 1000) / rate.perMs } }),
    ...(flags.mirror !== undefined && { mirror: mirrorPath(context, flags.mirror) }),
  });
}
