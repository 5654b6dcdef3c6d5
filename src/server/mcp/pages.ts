/** Pages of lists for agents: as many records as fit into an answer, and a cursor for the next page. */
import { readCursor, writeCursor } from "../../std/cursor.ts";
import type { Json, JsonObject } from "../../std/json.ts";
import { RequestError } from "../problem.ts";
import { type Answer, fits, split, writeAnswer } from "./answer.ts";
import { BRIEF, SIZES, type Size, shrinkDocument, visible } from "./shrink.ts";

export interface Page {
  readonly records: readonly JsonObject[];
  /** The cursor of the route; null on the last page. */
  readonly next: string | null;
  /** The total number of records, if it is known. */
  readonly total: number | undefined;
  /** Additional fields of the answer. */
  readonly more?: JsonObject;
}

export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string;
  /** The total from the first page, so that later pages need not count again. */
  readonly total?: number;
}

/** Reads a page, or a smaller one if it does not fit, so that the cursor continues where the answer ends. */
export async function pageAnswer(
  name: string,
  { limit: asked, cursor }: { readonly limit: number; readonly cursor: string | undefined },
  read: (request: PageRequest) => Promise<Page>,
): Promise<Answer> {
  const position = cursor === undefined ? undefined : positionOf(cursor);
  const { seen = 0, total } = position ?? {};
  const known = { ...(position && { cursor: position.from }), ...(total !== undefined && { total }) };
  let limit = asked;
  for (;;) {
    const page = await read({ limit, ...known });
    // A single record is shortened further, because a page cannot have fewer records.
    for (const size of limit === 1 ? [BRIEF, ...SIZES.slice(2)] : [BRIEF]) {
      const answer = answerOfPage(name, page, { seen, size });
      if (fits(writeAnswer(answer))) return answer;
    }
    if (limit === 1)
      throw new RequestError("internal", "A single record exceeds the maximum size of an answer.");
    limit = Math.max(1, Math.min(limit - 1, Math.floor(page.records.length / 2)));
  }
}

function answerOfPage(
  name: string,
  { records, next, total, more = {} }: Page,
  { seen, size }: { readonly seen: number; readonly size: Size },
): Answer {
  const brief = records.map((record) => shrinkDocument(record, size).document);
  const shown = seen + records.length;
  const left = total === undefined ? undefined : Math.max(0, total - shown);
  return {
    ...split({ ...shrinkDocument(more, size).document, [name]: brief as Json }),
    next: next === null ? null : cursorOf({ from: next, seen: shown, total }),
    cut: next === null ? [] : [left === undefined ? `${name}: more follow` : `${name}: ${left} more`],
  };
}

const TEXT_CHARACTERS = 6000;

/** Splits a long text into pages. The cursor counts characters. A page is shorter if characters must be escaped. */
export function textAnswer(text: string, cursor: string | undefined): Answer {
  const start = Number(cursor === undefined ? 0 : positionOf(cursor).from) || 0;
  for (let length = TEXT_CHARACTERS; ; length = Math.floor(length / 2)) {
    const end = Math.min(text.length, start + length);
    const answer: Answer = {
      facts: { total: text.length },
      untrusted: { text: visible(text.slice(start, end)) },
      next: end < text.length ? cursorOf({ from: String(end), seen: end }) : null,
      cut: end < text.length ? [`text: ${text.length - end} more characters`] : [],
    };
    if (fits(writeAnswer(answer))) return answer;
  }
}

interface Position {
  readonly from: string;
  /** How many records the previous pages had. */
  readonly seen: number;
  readonly total?: number | undefined;
}

function cursorOf({ from, seen, total }: Position): string {
  return writeCursor([from, seen, total ?? null]);
}

function positionOf(cursor: string): Position {
  const [from, seen, total] = readCursor(cursor);
  if (typeof from === "string" && typeof seen === "number")
    return { from, seen, total: typeof total === "number" ? total : undefined };
  throw new RequestError("request_invalid", "The cursor is not one that this tool returned.", {
    field: "cursor",
  });
}
