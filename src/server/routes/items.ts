/** Handlers of the routes of items and their output. */

import { GrowingOutput } from "../../attempt/growing-output.ts";
import { findLog } from "../../attempt/log-segments.ts";
import { readRunning } from "../../attempt/output-watch.ts";
import type { Engine } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { isFromElsewhere, NOT_READ } from "../../item/imported-letter.ts";
import { type Attempt, attemptToJson, type Item, jobLogsFolder } from "../../item/item.ts";
import type { ItemState } from "../../item/state.ts";
import { itemToJson, itemViewToJson, readItemView } from "../../queue/find-item.ts";
import { requireJob } from "../../queue/find-job.ts";
import { itemPageToJson, readItemPage } from "../../queue/item-page.ts";
import { followLogs, isExact } from "../../run/follow-logs.ts";
import { jobLogs } from "../../store/home.ts";
import type { Handler, RequestContext } from "../context.ts";
import { PAGE_DEFAULT } from "../contract/filter.ts";
import type { queueRoutes } from "../contract/queues.ts";
import { eventStream } from "../event-stream.ts";
import { type FileAnswer, fileResponse } from "../files.ts";
import { requireExactItem } from "../find.ts";
import { type Redactor, requireVisible } from "../redact.ts";
import { requireQueueOf } from "../selection.ts";

type Routes = Pick<
  typeof queueRoutes,
  | "GET /items"
  | "GET /items/{queue}/{item_id}"
  | "GET /items/{queue}/{item_id}/attempts"
  | "GET /items/{queue}/{item_id}/log"
  | "GET /items/{queue}/{item_id}/log/tail"
>;

const LOG_TYPE = "text/plain; charset=utf-8";

export const itemHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "GET /items": async ({ engine }, { query }) => {
    const { queue, id: idOrPrefix, state: states, limit = PAGE_DEFAULT, cursor } = query;
    if (idOrPrefix !== undefined) return foundItems(engine, { idOrPrefix, queue, states, limit });
    if (queue === undefined) throw new RedriveError("usage", "Give a queue, or the id of an item.");
    const { id } = await requireQueueOf(engine, queue);
    return itemPageToJson(
      await readItemPage(engine, { queue: id, after: Number(cursor ?? 0), limit, states }),
    );
  },

  "GET /items/{queue}/{item_id}": async ({ engine }, { params }) =>
    itemViewToJson(await readItemView(engine, await requireExactItem(engine, params))),

  "GET /items/{queue}/{item_id}/attempts": async ({ engine }, { params }) => {
    const { ref } = await requireExactItem(engine, params);
    return { attempts: (await engine.listAttempts(ref)).map(attemptToJson) };
  },

  "GET /items/{queue}/{item_id}/log": async (context, { params, query }) => {
    const item = await requireExactItem(context.engine, params);
    const attempt = await attemptOf(context.engine, item, query.attempt);
    if (attempt.log === undefined) return runningOutput(context, item, attempt);
    const file = logFile(jobLogsFolder(context.home, item.queue), attempt.log);
    if (context.redactor !== null) return maskedLog(context.redactor, item, file);
    return fileResponse(context.headers, file);
  },

  "GET /items/{queue}/{item_id}/log/tail": async (context, { params }) => {
    const { engine, home, clock, signal, redactor } = context;
    if (redactor !== null) requireVisible("live output"); // a value may be split between two chunks
    const item = await requireExactItem(engine, params);
    const job = await requireJob(engine, item.queue);
    return eventStream({ signal: signal(), clock }, async function* (stop) {
      for await (const { attempt, part } of followLogs(engine, { home, job, item, clock, signal: stop })) {
        if ("outcome" in part) yield { event: "ended", data: { attempt, outcome: part.outcome } };
        else if ("title" in part) yield { event: "output", data: { attempt, title: part.title } };
        else yield { event: "output", data: { attempt, stream: part.stream, text: part.bytes.toString() } };
      }
      yield { event: "end", data: {} };
    });
  },
};

interface FindRequest {
  readonly idOrPrefix: string;
  readonly queue: string | undefined;
  readonly states: readonly ItemState[] | undefined;
  readonly limit: number;
}

/** Finds items by id or its beginning. There is no next page, because more letters of the id find fewer items. */
async function foundItems(engine: Engine, { idOrPrefix, queue, states, limit }: FindRequest) {
  const own = queue === undefined ? {} : { queue: (await requireQueueOf(engine, queue)).id };
  const items = await engine.findItems(idOrPrefix, { ...own, limit });
  const wanted = items.filter(({ state }) => states?.includes(state) ?? true);
  return { items: wanted.map(itemToJson), next: null };
}

/** Chooses the attempt with this number, or the latest that is running or has output. */
async function attemptOf(engine: Engine, item: Item, number: number | undefined): Promise<Attempt> {
  const attempts = await engine.listAttempts(item.ref);
  const withOutput = attempts.filter(({ log, outcome }) => log !== undefined || outcome === "running");
  const chosen = number === undefined ? withOutput.at(-1) : attempts.find((one) => one.number === number);
  const what = number === undefined ? "no attempt with output" : `no attempt ${number} with output`;
  const none = new RedriveError("log_not_found", `The item ${item.itemId} has ${what}.`);
  if (chosen === undefined) throw none;
  if (chosen.log === undefined && chosen.outcome !== "running") throw none;
  if (!isFromElsewhere(chosen)) return chosen;
  throw new RedriveError("log_not_found", `The log of attempt ${chosen.number} ${NOT_READ}.`);
}

/** Small logs of successes are stored in segments. */
function logFile(folder: string, log: string): FileAnswer {
  const { path, ...part } = findLog(log) ?? { path: log, from: 0, bytes: 0 };
  return { folder, path, part, contentType: LOG_TYPE };
}

/** Reads the whole log, because a hidden value may be anywhere in it. */
async function maskedLog(redactor: Redactor, item: Item, file: FileAnswer): Promise<Response> {
  const whole = await fileResponse(new Headers(), file);
  const text = redactor.text(await whole.text(), item.data);
  return new Response(text, { headers: { "content-type": LOG_TYPE } });
}

/** Reads what a running attempt has written so far. */
async function runningOutput(
  { engine, home, redactor }: RequestContext,
  { queue, itemId, data }: Item,
  { number }: Attempt,
): Promise<Response> {
  const job = await requireJob(engine, queue);
  const logs = jobLogs(home, queue);
  const output = new GrowingOutput(logs.log(itemId, number), { isExact: isExact(job) });
  const parts = [...output.read(readRunning(logs.runningFolder), false)];
  const bytes = Buffer.concat(
    parts.map((part) => ("title" in part ? Buffer.from(`${part.title}\n`) : part.bytes)),
  );
  const text = redactor === null ? new Uint8Array(bytes) : redactor.text(bytes.toString(), data);
  return new Response(text, { headers: { "content-type": LOG_TYPE, "x-redrive-running": "true" } });
}
