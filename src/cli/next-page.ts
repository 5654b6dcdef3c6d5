/** The command line of a list, written again: for the next page of it. */
import type { SelectionFlags } from "./selection-words.ts";
import { shellWord } from "./summary-text.ts";

export interface ListWords extends SelectionFlags {
  readonly sort?: string;
  readonly columns?: readonly string[];
  readonly limit?: string;
  readonly cursor?: string;
}

const SELECTING = [
  ["group", "--group"],
  ["type", "--type"],
  ["class", "--class"],
  ["state", "--state"],
  ["olderThan", "--older-than"],
  ["newerThan", "--newer-than"],
  ["ageOf", "--age-of"],
  ["attempts", "--attempts"],
  ["eligible", "--eligible"],
  ["search", "--search"],
  ["filter", "--filter"],
] as const;

const ALL = [
  ["job", "--job"],
  ["queue", "--queue"],
  ...SELECTING,
  ["sort", "--sort"],
  ["columns", "--columns"],
  ["limit", "--limit"],
] as const;

const DEFAULTS: ListWords = { sort: "newest", limit: "20" };

/** Whether fewer letters were asked for than there are. */
export function isNarrowed(flags: ListWords): boolean {
  return SELECTING.some(([name]) => flags[name] !== undefined);
}

/** What to type for the page after this one. */
export function nextPageCommand(jobName: string | undefined, flags: ListWords, cursor: string): string {
  const words = ["redrive", "dlq", "list", ...(jobName === undefined ? [] : [jobName])];
  for (const [name, option] of ALL) {
    const value = flags[name];
    if (value === undefined || value === DEFAULTS[name]) continue;
    if (value === true) words.push(option);
    else for (const one of [value].flat()) words.push(option, String(one));
  }
  return [...words, "--cursor", cursor].map(quoted).join(" ");
}

function quoted(word: string): string {
  return word.startsWith("--") ? word : (shellWord(word) ?? `'${word.replaceAll("'", "'\\''")}'`);
}
