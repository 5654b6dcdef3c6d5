/** `redrive events`: what happened, oldest first, and on as it happens. */
import type { Engine } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { EVENT_TYPES, type Event, type EventType, eventToJson } from "../../item/event.ts";
import { requireJob } from "../../job/find-job.ts";
import { systemClock, toRfc3339 } from "../../kit/clock.ts";
import { parseDuration } from "../../kit/duration.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { listenForInterrupts } from "../interrupt.ts";
import { countOption } from "../option.ts";

interface EventFlags {
  readonly follow?: boolean;
  readonly type?: string[];
  readonly since?: string;
  readonly limit?: string;
}

const PAGE_MAX = 1000;
const LOOK_MS = 200;

/** With `--json` alone one document; with `--follow` one JSON object a line, because there is no end to wait for. */
export async function events(
  context: Context,
  jobName: string | undefined,
  flags: EventFlags,
): Promise<number> {
  return context.withStore(
    async (engine) => {
      const interrupt = listenForInterrupts(() => undefined);
      const collected: Event[] = [];
      const isDocument = context.isJson && !flags.follow;
      for await (const event of stream(engine, jobName, flags, interrupt.signal)) {
        if (!context.terminal.stdout.writable) break; // its reader has seen enough
        if (isDocument) collected.push(event);
        else
          context.terminal.stdout.write(
            context.isJson ? `${JSON.stringify(eventToJson(event))}\n` : eventLine(context, event),
          );
      }
      interrupt.dispose();
      if (isDocument) context.answer({ events: collected.map(eventToJson) }, () => "");
      return EXIT.done;
    },
    { mustExist: flags.follow ?? false },
  );
}

async function* stream(
  engine: Engine,
  jobName: string | undefined,
  flags: EventFlags,
  stop: AbortSignal,
): AsyncGenerator<Event> {
  const queue = jobName === undefined ? {} : { queue: (await requireJob(engine, jobName)).id };
  const types = flags.type === undefined ? {} : { types: flags.type.flatMap(readTypes) };
  const since =
    flags.since === undefined ? {} : { since: (await engine.now()) - parseDuration(flags.since, "--since") };
  let left = countOption("--limit", flags.limit, 1) ?? Number.POSITIVE_INFINITY;
  let after = 0;
  while (left > 0 && !stop.aborted) {
    const page = await engine.listEvents({
      ...queue,
      ...types,
      ...since,
      after,
      limit: Math.min(PAGE_MAX, left),
    });
    yield* page;
    left -= page.length;
    after = page.at(-1)?.id ?? after;
    if (page.length > 0) continue;
    if (!flags.follow) return;
    await systemClock.sleep(LOOK_MS, stop);
  }
}

function readTypes(text: string): EventType[] {
  return text.split(",").map((word) => {
    const type = EVENT_TYPES.find((known) => known === word.trim());
    if (type !== undefined) return type;
    throw new WorkError("usage", `--type: there is no event ${word}.`, {
      hint: `There are: ${EVENT_TYPES.join(", ")}.`,
    });
  });
}

function eventLine({ paint }: Context, event: Event): string {
  const where = [event.itemId, event.attempt === undefined ? "" : `#${event.attempt}`]
    .filter(Boolean)
    .join(" ");
  const data = event.data === undefined ? "" : paint.dim(JSON.stringify(event.data));
  const parts = [paint.dim(toRfc3339(event.at)), event.type, event.queue ?? "", where, data];
  return `${parts.filter(Boolean).join("  ")}\n`;
}
