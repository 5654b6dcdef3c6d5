/** What one item sets for itself: retries and backoff instead of those of its queue, and context for tools. */
import { compact, type JsonObject, parseJson, stringifyJson } from "../std/json.ts";
import type { Backoff } from "./backoff.ts";

/** What one item sets for itself. */
export interface ItemOptions {
  /** How often the item is retried after its first attempt. Default: as its queue. */
  readonly retries?: number;
  /** The waits before its retries. Default: as its queue. */
  readonly backoff?: Backoff;
  /** A small object beside the data, such as a trace context. Part of neither the item's identity nor a signature. */
  readonly context?: JsonObject;
}

/** The most retries that one item may ask for. */
export const RETRIES_MAX = 1000;
/** The longest context, as JSON text. */
export const CONTEXT_BYTES_MAX = 8192;

/** The options as the store keeps them; undefined for most items, which have none. */
export function optionsText({ retries, backoff, context }: ItemOptions): string | undefined {
  if ((retries ?? backoff ?? context) === undefined) return undefined;
  return stringifyJson(compact({ retries, backoff, context }));
}

export function readOptions(text: string | null | undefined): ItemOptions {
  return text === null || text === undefined ? {} : (parseJson(text) as ItemOptions);
}
