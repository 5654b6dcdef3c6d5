/** One bell for each file, so that two engines of one process that have the same store open ring for each other. */
import { resolve } from "node:path";
import { Bell } from "../../kit/bell.ts";

const bells = new Map<string, WeakRef<Bell>>();

/** A bell that nobody has any more is forgotten with its last session. */
export function bellOf(path: string): Bell {
  const file = resolve(path);
  const known = bells.get(file)?.deref();
  if (known !== undefined) return known;
  for (const [other, bell] of bells) if (bell.deref() === undefined) bells.delete(other);
  const made = new Bell();
  bells.set(file, new WeakRef(made));
  return made;
}
