/**
 * The audit: who changed what, and through which interface. It is derived from the append-only events and
 * cannot be edited.
 */
import type { Engine } from "../engine.ts";
import { parseAuthor } from "../item/author.ts";
import { AUDITED_EVENTS, type Event } from "../item/event.ts";
import type { Operation } from "../item/operation.ts";
import { toRfc3339 } from "../std/clock.ts";
import type { JsonObject } from "../std/json.ts";

export interface AuditQuery {
  readonly limit: number;
  /** Only entries before the event with this id. */
  readonly before?: number;
  readonly queue?: string;
  /** Only changes by this author. */
  readonly author?: string;
  /**
   * Approximately how many events are read. The page may then be short or empty although more entries follow.
   * Default: all.
   */
  readonly scanMax?: number;
}

const WINDOW_FIRST = 1000;
const PAGE_MAX = 1000;

/**
 * Lists entries, newest first. The steps of one operation on a page are combined into one entry with their
 * totals.
 */
export async function listAudit(engine: Engine, query: AuditQuery): Promise<JsonObject> {
  const {
    limit,
    before = Number.MAX_SAFE_INTEGER,
    queue,
    author,
    scanMax = Number.POSITIVE_INFINITY,
  } = query;
  const authors = new Authors(engine);
  const entries = new Map<string, Entry>();
  let high = Math.min(before - 1, await engine.newestEvent());
  const end = Math.max(0, high - scanMax);
  let span = WINDOW_FIRST;
  let next: number | null = null;
  while (high > 0 && next === null) {
    const low = Math.max(0, end, high - span);
    for (const event of (await eventsBetween(engine, { low, high, queue })).reverse()) {
      const by = await authors.of(event);
      if (by === null || (author !== undefined && parseAuthor(by).name !== author)) continue;
      const key = keyOf(event);
      const known = entries.get(key);
      if (known !== undefined) known.steps.push(event);
      else if (entries.size < limit) entries.set(key, { author: by, steps: [event] });
      else {
        next = event.id + 1;
        break;
      }
    }
    high = low;
    span *= 4;
    if (high <= end && high > 0) next ??= high + 1;
  }
  return { entries: [...entries.values()].map(entryToJson), next: next === null ? null : String(next) };
}

interface Entry {
  readonly author: string;
  /** Newest first. */
  readonly steps: Event[];
}

/** Events of one operation and type belong together. */
function keyOf({ id, type, data }: Event): string {
  return typeof data?.operation_id === "string" ? `${type}/${data.operation_id}` : String(id);
}

async function eventsBetween(
  engine: Engine,
  { low, high, queue }: { readonly low: number; readonly high: number; readonly queue: string | undefined },
): Promise<Event[]> {
  const found: Event[] = [];
  for (let after = low; ; ) {
    const only = { types: AUDITED_EVENTS, limit: PAGE_MAX, ...(queue !== undefined && { queue }) };
    const page = await engine.listEvents({ ...only, after, through: high });
    found.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_MAX) return found;
    after = last.id;
  }
}

class Authors {
  readonly #engine: Engine;
  readonly #operations = new Map<string, Operation | null>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Returns null for an event without a human author, or whose operation was deleted with its job. */
  async of({ type, data }: Event): Promise<string | null> {
    if (typeof data?.author === "string") return data.author;
    // A status change without an author was made by Redrive, not by the person who began the operation.
    if (type === "operation_changed" || typeof data?.operation_id !== "string") return null;
    const id = data.operation_id;
    if (!this.#operations.has(id)) this.#operations.set(id, await this.#engine.findOperation(id));
    return this.#operations.get(id)?.author ?? null;
  }
}

function entryToJson({ author, steps }: Entry): JsonObject {
  const [newest] = steps;
  const { id, at, type, queue, itemId, data = {} } = newest as Event;
  const { name, via } = parseAuthor(author);
  const { author: _, action, item_id: item, ...facts } = data;
  const isOne = steps.length === 1;
  return {
    id: String(id),
    at: toRfc3339(at),
    author: name,
    via,
    action: typeof action === "string" ? action : type,
    queue: queue ?? null,
    item_id: isOne ? (itemId ?? (typeof item === "string" ? item : null)) : null,
    data: { ...facts, ...(!isOne && sumsOf(steps)) },
  };
}

/** The totals of the steps' counts, and how many letters an edit changed. */
function sumsOf(steps: readonly Event[]): JsonObject {
  const sums: Record<string, number> = { steps: steps.length };
  for (const { data = {} } of steps)
    for (const key of ["count", "redriven", "refused"] as const)
      if (typeof data[key] === "number") sums[key] = (sums[key] ?? 0) + Number(data[key]);
  return sums;
}
