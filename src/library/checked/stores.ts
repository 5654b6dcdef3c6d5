/** Opens and copies stores for library callers, with argument checks. */
import type { Engine } from "../../engine.ts";
import { type OpenOptions, openStore as openEngine } from "../../engines/open.ts";
import { authorText } from "../../item/author.ts";
import { name } from "../../std/check-input.ts";
import { authoredEngine } from "../../store/authored-engine.ts";
import { copyStore as copyUnchecked } from "../../store/copy.ts";
import { checkArguments, checked } from "./checked.ts";
import { checkedEngine } from "./checked-engine.ts";
import { copyOptions, openOptions } from "./schemas.ts";

/** The author of changes that do not name one. */
const PROGRAM = authorText("program", "library");

/** Opens a store by its URL: `sqlite:PATH`, `postgres://user@host/db`, or `memory:`. */
export async function openStore(url: string, options: OpenOptions = {}): Promise<Engine> {
  checkArguments([url, options], "openStore", { url: name, options: openOptions });
  return checkedEngine(authoredEngine(await openEngine(url, options), PROGRAM));
}

/** Copies a store into an empty one, and compares both. */
export const copyStore = checked("copyStore", copyUnchecked, { options: copyOptions });
