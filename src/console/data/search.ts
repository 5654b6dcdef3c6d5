/** The query strings of lists. A value that a page does not know is ignored, never an error. */
type Raw = Readonly<Record<string, unknown>>;

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== ""
    ? value
    : typeof value === "number"
      ? String(value)
      : undefined;
}

function oneOf<const Value extends string>(values: readonly Value[], value: unknown): Value | undefined {
  return values.find((one) => one === value);
}

/** Leaves out what is not set, so that addresses stay short. */
function compact<T extends object>(given: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>;
  };
}

export const GROUP_STATES = ["open", "resolved", "ignored", "all"] as const;
export const LETTER_STATES = ["dead", "ready", "leased", "held", "discarded", "resolved", "all"] as const;
export const ERROR_CLASSES = ["transient", "throttled", "outage", "permanent", "unknown"] as const;

export type GroupSearch = ReturnType<typeof groupSearch>;
export function groupSearch(raw: Raw) {
  return compact({ state: oneOf(GROUP_STATES, raw.state), queue: text(raw.queue), q: text(raw.q) });
}

export type LetterSearch = ReturnType<typeof letterSearch>;
export function letterSearch(raw: Raw) {
  return compact({
    state: oneOf(LETTER_STATES, raw.state),
    queue: text(raw.queue),
    group: text(raw.group),
    class: oneOf(ERROR_CLASSES, raw.class),
    q: text(raw.q),
    filter: text(raw.filter),
    older_than: text(raw.older_than),
  });
}

export function tabSearch(raw: Raw) {
  return compact({ tab: text(raw.tab) });
}

/** The query of the API for the letters that a list shows. */
export function letterQuery({ state, queue, group, class: errorClass, q, filter, older_than }: LetterSearch) {
  return {
    ...(state && { state: [state] }),
    ...(queue !== undefined && { queue }),
    ...(group !== undefined && { group: [group] }),
    ...(errorClass && { class: [errorClass] }),
    ...(q !== undefined && { search: q }),
    ...(filter !== undefined && { filter }),
    ...(older_than !== undefined && { older_than }),
  };
}

/** The options of the command that selects the same letters. */
export function letterOptions({ queue, group, class: errorClass, filter, older_than }: LetterSearch): string {
  const words = [
    queue && `--queue ${quoted(queue)}`,
    group && `--group ${group}`,
    errorClass && `--class ${errorClass}`,
    filter && `--filter ${quoted(filter)}`,
    older_than && `--older-than ${older_than}`,
  ];
  return words.filter(Boolean).join(" ");
}

/** Quotes a word for a POSIX shell if it needs it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
