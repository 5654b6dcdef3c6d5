/** One notifier per file, so that engines in one process that opened the same store notify each other. */
import { resolve } from "node:path";
import { Notifier } from "../../std/notifier.ts";

const notifiers = new Map<string, WeakRef<Notifier>>();

/** Returns the notifier of a file. It is garbage-collected with its last session. */
export function notifierOf(path: string): Notifier {
  const file = resolve(path);
  const known = notifiers.get(file)?.deref();
  if (known !== undefined) return known;
  for (const [other, notifier] of notifiers) if (notifier.deref() === undefined) notifiers.delete(other);
  const made = new Notifier();
  notifiers.set(file, new WeakRef(made));
  return made;
}
