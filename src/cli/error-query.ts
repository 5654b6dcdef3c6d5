/** From the options of `redrive errors` to what is asked of the error log. */
import type { Engine } from "../engine.ts";
import type { ErrorOrigin } from "../item/error-entry.ts";
import { compact } from "../item/failure.ts";
import type { Item } from "../item/item.ts";
import { requireJob } from "../job/find-job.ts";
import { parseDuration } from "../kit/duration.ts";
import type { ErrorLogQuery } from "../watch/error-log.ts";
import { requireItem } from "./find.ts";
import { words } from "./list-words.ts";

export interface ErrorFlags {
  readonly queue?: readonly string[];
  readonly item?: string;
  readonly origin?: ErrorOrigin;
  readonly since?: string;
  readonly limit?: string;
}

/** A queue, a job or an item that is not there is an error: nothing found would be taken for good news. */
export async function errorQueryFrom(
  engine: Engine,
  flags: ErrorFlags,
): Promise<Omit<ErrorLogQuery, "limit">> {
  const named: string[] = [];
  for (const name of words(flags.queue) ?? []) named.push((await requireJob(engine, name)).id);
  const isNamed = (item: Item) => named.length === 0 || named.includes(item.queue);
  const only = named.length === 1 ? named[0] : undefined;
  const item = flags.item === undefined ? undefined : await requireItem(engine, flags.item, only, isNamed);
  const queues = item === undefined ? named : [item.queue];
  return compact({
    queues: queues.length === 0 ? undefined : queues,
    itemId: item?.itemId,
    origin: flags.origin,
    since:
      flags.since === undefined ? undefined : (await engine.now()) - parseDuration(flags.since, "--since"),
  });
}
