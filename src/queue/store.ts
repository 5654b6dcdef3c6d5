/** A store as the library's user has it: the engine, and its queues by their names. */
import type { Engine } from "../engine.ts";
import { type OpenOptions, openStore as openEngine } from "../engines/open.ts";
import { Queue } from "./queue.ts";

/** An engine with the queues of its store. */
export interface Store extends Engine {
  /** The queue of that name, whether or not it is there yet. */
  queue(name: string): Queue;
}

/** Opens a store by its URL: `sqlite:PATH`, `postgres://user@host/db`, or `memory:`. */
export async function openStore(url: string, options: OpenOptions = {}): Promise<Store> {
  const engine = await openEngine(url, options);
  return { ...engine, queue: (name) => new Queue(engine, name) };
}
