/** Settings of a single item: retries and backoff that override its queue's, and context for tools. */
import { compact, type JsonObject, parseJson, stringifyJson } from "../std/json.ts";
import type { Backoff } from "./backoff.ts";

/** Settings of a single item. */
export interface ItemOptions {
  /** How often the item is retried after its first attempt. Default: the queue's setting. */
  readonly retries?: number;
  /** The waits before the retries. Default: the queue's setting. */
  readonly backoff?: Backoff;
  /**
   * A small object stored with the data, such as a trace context. It affects neither the item's identity nor
   * a signature.
   */
  readonly context?: JsonObject;
}

/** The maximum number of retries for one item. */
export const RETRIES_MAX = 1000;
/** The maximum size of the context as JSON text. */
export const CONTEXT_BYTES_MAX = 8192;

/** Formats the options for the store; undefined for most items, which have none. */
export function optionsText({ retries, backoff, context }: ItemOptions): string | undefined {
  if ((retries ?? backoff ?? context) === undefined) return undefined;
  return stringifyJson(compact({ retries, backoff, context }));
}

export function readOptions(text: string | null | undefined): ItemOptions {
  return text === null || text === undefined ? {} : (parseJson(text) as ItemOptions);
}
