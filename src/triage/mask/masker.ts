/** The interface of maskers. Each uses a mask to replace one kind of text that differs from item to item. */

/** Called for each masked part with the name of the mask, the original text and the replacement. */
export type Hit = (mask: string, before: string, after: string) => void;

/** One pass over the text. `MASKS` explains each mask. */
export interface Masker {
  /** Replaces every match. The result depends only on the text. */
  readonly mask: (text: string, hit?: Hit) => string;
  /** The names of the masks it can write, without angle brackets. */
  readonly masks: readonly string[];
}

/** Like `text.replace`, but keeps a match for which `write` returns undefined. */
export function replaceAll(
  text: string,
  shape: RegExp,
  write: (match: string) => string | undefined,
): string {
  let written = "";
  let from = 0;
  shape.lastIndex = 0;
  for (let found = shape.exec(text); found !== null; found = shape.exec(text)) {
    const [match] = found;
    const mask = write(match);
    if (mask === undefined) continue;
    written += text.slice(from, found.index) + mask;
    from = found.index + match.length;
  }
  return from === 0 ? text : written + text.slice(from);
}

/** Every mask of a pattern, and why failures that differ only in this part are the same failure. */
export const MASKS: Readonly<Record<string, string>> = {
  str: "a quoted value, which may differ from item to item",
  field: "the path of a field identifies one part of the input",
  data: "an object in braces is the data of one item, unless it has a field such as error or message",
  val: "in key=value the key belongs to the message and the value to the item",
  bool: "it describes the state of one item at one moment",
  url: "the address belongs to the item; the words around it describe the failure",
  uuid: "a UUID identifies one object",
  time: "the time is recorded separately and differs every time",
  dur: "durations differ from run to run",
  email: "an e-mail address identifies one person",
  mac: "a hardware address identifies one machine",
  ip: "host and port differ from item to item",
  path: "file names and positions differ from item to item",
  host: "host names differ from item to item",
  num: "counts, positions and other numbers differ from item to item",
  size: "sizes differ from item to item",
  hex: "memory addresses and handles differ from run to run",
  hash: "a digest or key identifies one content",
  id: "letters mixed with digits are a generated identifier",
  type: "data types differ from item to item",
  regex: "a pattern between slashes differs from item to item",
  name: "the name of one thing, such as a table, a user or a package, differs from item to item",
  sql: "the SQL statement differs from item to item",
  list: "the number of operands differs from item to item",
};
