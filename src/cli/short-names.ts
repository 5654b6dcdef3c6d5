/**
 * Short forms of item ids and of group signatures for lists on a terminal: eight characters, more where eight are not
 * unique. The commands that take an ITEM or a GROUP accept every short form. Ids that people chose are never cut.
 */
import type { Engine } from "../engine.ts";
import { isGeneratedId } from "../intake/identity.ts";

/** Shows a name in its short form. */
export type Shorten = (name: string) => string;

const LENGTH_MIN = 8;
/** A longer list shows whole names, so that it costs no query for each row. */
const NAMES_MAX = 100;

/** For ids that were made from the content of the item. */
export function shortIds(engine: Engine, ids: readonly string[]): Promise<Shorten> {
  return shortNames(ids.filter(isGeneratedId), async (prefix) => {
    const found = await engine.findItems(prefix, { limit: LIKE_NAMES_MAX });
    return found.map(({ itemId }) => itemId);
  });
}

export function shortSignatures(engine: Engine, signatures: readonly string[]): Promise<Shorten> {
  return shortNames(signatures, async (prefix) => {
    const found = await engine.listMarks({ prefix });
    return found.map(({ signature }) => signature);
  });
}

/** Where so many names begin alike, the whole name is shown. */
const LIKE_NAMES_MAX = 20;

async function shortNames(
  names: readonly string[],
  namesWith: (prefix: string) => Promise<readonly string[]>,
): Promise<Shorten> {
  const wanted = [...new Set(names)];
  const short = new Map<string, string>();
  for (const name of wanted.length > NAMES_MAX ? [] : wanted) {
    const alike = await namesWith(name.slice(0, LENGTH_MIN));
    if (alike.length < LIKE_NAMES_MAX) short.set(name, uniquePrefix(name, alike));
  }
  return (name) => short.get(name) ?? name;
}

/** The shortest beginning that no other of the names has; the whole name when another one begins with it. */
function uniquePrefix(name: string, names: readonly string[]): string {
  const others = names.filter((other) => other !== name);
  for (let length = LENGTH_MIN; length < name.length; length += 1) {
    const prefix = name.slice(0, length);
    if (!others.some((other) => other.startsWith(prefix))) return prefix;
  }
  return name;
}
