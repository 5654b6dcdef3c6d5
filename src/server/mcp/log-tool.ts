/** The tool that reads the output of attempts and compares two of them. */
import * as z from "zod";
import type { JsonObject } from "../../std/json.ts";
import { diffJson } from "../../std/json-diff.ts";
import { count } from "../contract/documents.ts";
import { RequestError } from "../problem.ts";
import { type Answer, answerOf, fits, writeAnswer } from "./answer.ts";
import { address, listOf } from "./reading-tools.ts";
import type { RouteCaller } from "./route-caller.ts";
import { visible } from "./shrink.ts";
import { tool } from "./tool.ts";

const attempt = z.number().int().min(1).max(1_000_000_000);

interface LogRequest {
  readonly queue: string;
  readonly item_id: string;
  readonly attempt?: number | undefined;
}

export const readLog = tool({
  title: "Read a log",
  description:
    "The output of an attempt: the end of it, or the part from `cursor` on. With `compare_with`: the differences between two attempts, in their failures and in their output.",
  routes: ["GET /items/{queue}/{item_id}/log", "GET /items/{queue}/{item_id}/attempts"],
  effect: "reads",
  input: z.strictObject({
    ...address,
    attempt: attempt.optional().meta({ description: "default: the latest with output" }),
    compare_with: attempt.optional().meta({ description: "the number of another attempt" }),
    cursor: z
      .string()
      .regex(/^\d{1,15}$/)
      .optional()
      .meta({
        description: "a byte position, e.g. the `next` value of the previous answer; 0 is the beginning",
      }),
  }),
  facts: z.looseObject({
    total_bytes: count.optional(),
    attempts: z.array(z.looseObject({ number: count })).optional(),
  }),
  run: (routes, { compare_with: other, cursor, ...request }) =>
    other === undefined ? readPart(routes, request, cursor) : compare(routes, request, other),
});

const PART_BYTES = 9000;

/** Reads less if the answer would be too long, e.g. because many characters of the output must be escaped. */
async function readPart(
  routes: RouteCaller,
  request: LogRequest,
  cursor: string | undefined,
): Promise<Answer> {
  for (let bytes = PART_BYTES; ; bytes = Math.floor(bytes / 2)) {
    const part = await readBytes(routes, request, {
      bytes,
      from: cursor === undefined ? undefined : Number(cursor),
    });
    const { from, to, total, isRunning } = part;
    const before = from > 0 ? [`${from} more bytes before; cursor 0 is the beginning`] : [];
    const after = to < total ? [`${total - to} more bytes after`] : [];
    const answer: Answer = {
      facts: { from_byte: from, to_byte: to, total_bytes: total, is_running: isRunning },
      untrusted: { text: visible(part.text) },
      next: to < total ? String(to) : null,
      cut: [...before, ...after],
    };
    if (fits(writeAnswer(answer))) return answer;
  }
}

interface Part {
  readonly text: string;
  readonly from: number;
  readonly to: number;
  readonly total: number;
  readonly isRunning: boolean;
}

async function readBytes(
  routes: RouteCaller,
  { attempt: number, ...params }: LogRequest,
  { bytes, from }: { readonly bytes: number; readonly from: number | undefined },
): Promise<Part> {
  const range = from === undefined ? `bytes=-${bytes}` : `bytes=${from}-${from + bytes - 1}`;
  const query = number === undefined ? {} : { attempt: number };
  const route = "GET /items/{queue}/{item_id}/log";
  const response = await routes.file(route, { params, query, headers: { range } }).catch((error: unknown) => {
    if (error instanceof RequestError && error.code === "range_invalid") return new Response(""); // an empty log, or the end of the log
    throw error;
  });
  const sent = Buffer.from(await response.arrayBuffer());
  const isRunning = response.headers.has("x-redrive-running");
  const [, first, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get("content-range") ?? "") ?? [];
  if (first === undefined) {
    // Output that is masked or still growing is sent as a whole.
    const start = Math.min(from ?? Math.max(0, sent.length - bytes), sent.length);
    return { ...wholeCharacters(sent.subarray(start, start + bytes), start, sent.length), isRunning };
  }
  return { ...wholeCharacters(sent, Number(first), Number(size)), isRunning };
}

/** Drops the bytes of a truncated character at the end of a part, so that the next part contains all of it. */
function wholeCharacters(bytes: Buffer, from: number, total: number): Omit<Part, "isRunning"> {
  let end = bytes.length;
  if (from + end < total) {
    let lead = end - 1;
    while (lead > end - 4 && lead > 0 && ((bytes[lead] ?? 0) & 0xc0) === 0x80) lead -= 1;
    if ((bytes[lead] ?? 0) >= 0xc0) end = lead > 0 ? lead : end;
  }
  return { text: bytes.subarray(0, end).toString(), from, to: from + end, total };
}

const COMPARED_BYTES = 64 * 1024;
const LINES_MAX = 60;

async function compare(routes: RouteCaller, request: LogRequest, other: number): Promise<Answer> {
  const { attempt: given, ...params } = request;
  const found = await routes.document("GET /items/{queue}/{item_id}/attempts", { params });
  const attempts = listOf(found.attempts);
  const [one, two] = [attemptOf(attempts, given ?? latestOf(attempts)), attemptOf(attempts, other)];
  const [first, second] = [await linesOf(routes, params, one), await linesOf(routes, params, two)];
  const facts = [one, two].map(({ attempt_number, outcome, started_at, ended_at }) => ({
    ...{ attempt_number, outcome, started_at, ended_at },
  }));
  return answerOf({
    attempts: JSON.parse(JSON.stringify(facts)),
    differences: diffJson(withoutTimes(one.failure), withoutTimes(two.failure)).map((change) => ({
      ...change,
    })),
    only_in_first: missingIn(first, second),
    only_in_second: missingIn(second, first),
  });
}

function attemptOf(attempts: readonly JsonObject[], number: number): JsonObject {
  const found = attempts.find(({ attempt_number }) => attempt_number === number);
  if (found !== undefined) return found;
  const known = attempts.map(({ attempt_number }) => attempt_number).join(", ");
  throw new RequestError("request_invalid", `There is no attempt ${number}. Attempts: ${known}.`);
}

function latestOf(attempts: readonly JsonObject[]): number {
  return Number(attempts.at(-1)?.attempt_number ?? 1);
}

/** Omits the times and numbers of attempts, which always differ. */
function withoutTimes(failure: JsonObject[string] | undefined): JsonObject {
  const {
    timestamp: _,
    attempt_number: __,
    duration_ms: ___,
    log: ____,
    ...rest
  } = (failure ?? {}) as JsonObject;
  return rest;
}

/** The last lines of an attempt's output; none if it has no log. */
async function linesOf(
  routes: RouteCaller,
  params: { readonly queue: string; readonly item_id: string },
  { attempt_number, log, outcome }: JsonObject,
): Promise<readonly string[]> {
  if (log === undefined && outcome !== "running") return [];
  const request = { ...params, attempt: Number(attempt_number) };
  const { text } = await readBytes(routes, request, { bytes: COMPARED_BYTES, from: undefined });
  return text.split("\n").filter((line) => line.trim() !== "");
}

function missingIn(lines: readonly string[], others: readonly string[]): readonly string[] {
  const known = new Set(others);
  return lines.filter((line) => !known.has(line)).slice(-LINES_MAX);
}
