/** Parses the query strings of pages. A value that a page does not recognise is ignored. */
type Raw = Readonly<Record<string, unknown>>;

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== ""
    ? value
    : typeof value === "number"
      ? String(value)
      : undefined;
}

export function oneOf<const Value extends string>(
  values: readonly Value[],
  value: unknown,
): Value | undefined {
  return values.find((one) => one === value);
}

/** Omits parameters that are not set, to keep URLs short. */
export function compact<T extends object>(given: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>;
  };
}

export const GROUP_STATES = ["open", "resolved", "ignored", "all"] as const;
export const LETTER_STATES = ["dead", "ready", "leased", "held", "discarded", "resolved", "all"] as const;
export const LETTER_ORDERS = ["newest", "oldest", "attempts", "item", "type"] as const;
export const ERROR_CLASSES = ["transient", "throttled", "outage", "permanent", "unknown"] as const;

/** All query parameters of all lists. */
const WORDS = [
  ...(["q", "state", "queue", "sort", "group", "class", "filter", "older_than", "newer_than"] as const),
  ...(["author", "origin", "since", "assignee"] as const),
] as const;

export type ListSearch = { readonly [Word in (typeof WORDS)[number]]?: string };

export function listSearch(raw: Raw): ListSearch {
  return compact(Object.fromEntries(WORDS.map((word) => [word, text(raw[word])])));
}

/** The API query for the letters that a list shows. */
export function letterQuery({ queue, group, q, filter, older_than, newer_than, ...rest }: ListSearch) {
  const state = oneOf(LETTER_STATES, rest.state);
  const errorClass = oneOf(ERROR_CLASSES, rest.class);
  return {
    ...(state && { state: [state] }),
    ...(queue !== undefined && { queue }),
    ...(group !== undefined && { group: [group] }),
    ...(errorClass && { class: [errorClass] }),
    ...(q !== undefined && { search: q }),
    ...(filter !== undefined && { filter }),
    ...(older_than !== undefined && { older_than }),
    ...(newer_than !== undefined && { newer_than }),
    // Lists show when letters died, which is the time of their last attempt.
    ...((older_than ?? newer_than) !== undefined && { age_of: "last" as const }),
  };
}

/** The command line options that select the same letters. */
export function letterOptions({
  state,
  queue,
  group,
  class: errorClass,
  q,
  filter,
  older_than,
  newer_than,
}: ListSearch): string {
  const words = [
    state && `--state ${state}`,
    queue && `--queue ${quoted(queue)}`,
    group && `--group ${group}`,
    errorClass && `--class ${errorClass}`,
    q && `--search ${quoted(q)}`,
    filter && `--filter ${quoted(filter)}`,
    older_than && `--older-than ${older_than}`,
    newer_than && `--newer-than ${newer_than}`,
    (older_than ?? newer_than) && "--age-of last",
  ];
  return words.filter(Boolean).join(" ");
}

/** Quotes a word for a POSIX shell if it needs it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
