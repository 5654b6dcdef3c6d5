/** Small documents that processes share, each with a version that increases with every write. */
import type { SettleAndLease, SettleAndLeaseResult, SharedDocument } from "../../../src/engine.ts";
import { assertFreeName, gateName } from "../../../src/item/store-queries.ts";
import type { Json, JsonObject } from "../../../src/std/json.ts";
import { record } from "./events.ts";
import { frozenCopy, type Store } from "./store.ts";

/** Null if there is none. */
export function readDocument(store: Store, name: string): SharedDocument | null {
  return store.documents.get(name) ?? null;
}

/** False if another process was first. */
export function writeDocument(
  store: Store,
  name: string,
  { seen, body }: { readonly seen: number; readonly body: Json },
): boolean {
  assertFreeName(name);
  return writeSeen(store, name, { seen, body });
}

/** A gate before and after a step. */
export interface Passage {
  /** Whether the caller had seen this version: only then anything may be leased. */
  readonly isOpen: boolean;
  readonly gate: SettleAndLeaseResult["gate"];
}

/** Writes the step's version of the gate, if the caller had seen the current one. */
export function passGate(store: Store, asked: SettleAndLease["gate"]): Passage {
  if (!asked) return { isOpen: true, gate: null };
  const name = gateName(asked.queue);
  const isOpen = (store.documents.get(name)?.version ?? 0) === asked.seen;
  if (isOpen && asked.next) {
    writeSeen(store, name, { seen: asked.seen, body: asked.next });
    if (asked.event) record(store, { ...asked.event, queue: asked.queue });
  }
  const found = store.documents.get(name);
  return { isOpen, gate: found ? { version: found.version, body: found.body as JsonObject } : null };
}

function writeSeen(store: Store, name: string, { seen, body }: { seen: number; body: Json }): boolean {
  if ((store.documents.get(name)?.version ?? 0) !== seen) return false;
  store.documents.set(name, Object.freeze({ version: seen + 1, body: frozenCopy(body) }));
  return true;
}
