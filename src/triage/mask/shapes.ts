/** Masks text with a known form: URLs, UUIDs, times, addresses. Every repetition is bounded. */
import { type Hit, type Masker, replaceAll } from "./masker.ts";

interface Shape {
  readonly mask: string;
  /** A cheap test: if it does not match, `shape` is not tried. */
  readonly hint: RegExp;
  readonly shape: RegExp;
  /** Returns the part of the match to mask, or undefined when it is a false match. */
  readonly fit?: (match: string) => string | undefined;
}

const CLOCK = "\\d{1,2}:\\d\\d(?::\\d\\d)?(?:[.,:]\\d{1,9})?(?: ?[AP]M\\b)?";
const ZONE = "(?:Z(?:\\d\\d:\\d\\d)?| ?[+-]\\d\\d:?\\d\\d| (?:UTC|GMT|[A-Z]{2,3}T)\\b)";
const DATE =
  "(?:\\d{4}[-/.]\\d{1,2}[-/.]\\d{1,2}|\\d{1,2}[/.]\\d{1,2}[/.]\\d{4}|\\d{8}(?=[ T-]\\d{1,2}:\\d\\d:))";
const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?:[a-z]{0,6})";
const DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}";

const URL: Shape = {
  mask: "url",
  hint: /:\/\//,
  shape: /\b[a-zA-Z][a-zA-Z\d+.-]{1,15}:\/\/[^\s"'`<>()[\]{}|]{1,2000}/g,
  fit: (match) => match.slice(0, match.length - (/[.,;:!?]{1,8}$/.exec(match)?.[0].length ?? 0)),
};

const SHAPES: readonly Shape[] = [
  {
    mask: "uuid",
    hint: /-[\da-fA-F]{4}-[\da-fA-F]{4}-/,
    shape: /(?<![\da-zA-Z])[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12}(?![\da-zA-Z])/g,
  },
  {
    mask: "time",
    hint: /\d[-/.]\d{1,2}[-/.]\d|\d{8}[ T-]\d/,
    shape: new RegExp(`(?<![\\w./-])${DATE}(?:[T _:-]${CLOCK}${ZONE}?)?(?![\\d/]|\\.\\d)`, "g"),
    fit: (match) => (isDate(match) ? match : undefined),
  },
  {
    mask: "time",
    hint: /(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}[ /-]{1,2}\d/,
    shape: new RegExp(
      `(?<!\\w)(?:${DAY},? )?(?:${MONTH} {1,2}\\d{1,2}(?:,? \\d{4}(?!:))?|\\d{1,2}[ /-]${MONTH}[ /-]\\d{2,4})(?:[,:]? ?${CLOCK}${ZONE}?)?(?: \\d{4})?(?!\\w)`,
      "g",
    ),
  },
  {
    mask: "time", // `W0814 07:15:42.6`: the letter is the severity, the number is month and day
    hint: /(?:^|: )[A-Z]\d{4} \d\d:/,
    shape: /(?<=(?:^|: )[IWEFD])\d{4} \d\d:\d\d:\d\d(?:\.\d{1,9})?/g,
  },
  {
    mask: "dur",
    hint: /\d:\d\d/,
    shape:
      /(?<=\b(?:[Ll]ifetime|[Dd]uration|[Ee]lapsed|[Tt]ook|[Uu]ptime|[Rr]untime|[Aa]fter)[ :=]{1,2})\d{1,3}(?::\d\d){1,2}(?:\.\d{1,9})?(?![\w:])/g,
  },
  {
    mask: "time",
    hint: /\d:\d\d/,
    shape: new RegExp(
      `(?<![\\w.:])(?:\\d{1,2}:\\d\\d:\\d\\d(?:[.,:]\\d{1,9})?|\\d{1,2}:\\d\\d ?[AP]M)${ZONE}?(?![\\w]|:[\\da-fA-F])`,
      "g",
    ),
  },
  {
    mask: "email",
    hint: /\w@\w/,
    shape: /(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,5}\.[A-Za-z][\w-]{1,62}/g,
  },
  {
    mask: "mac",
    hint: /[\da-fA-F]{2}([:-])[\da-fA-F]{2}\1[\da-fA-F]{2}\1/,
    shape:
      /(?<![\w:-])[\da-fA-F]{2}(?::[\da-fA-F]{2}){5,7}(?![\w:-])|(?<![\w:-])[\da-fA-F]{2}(?:-[\da-fA-F]{2}){5}(?![\w:-])/g,
  },
  {
    mask: "ip",
    hint: /::|[\da-fA-F]:[\da-fA-F]/,
    shape: /(?<![\w:.])(?:[\da-fA-F]{1,4}:|:){2,15}(?::?\d{5}|:|[\da-fA-F]{1,4})(?:%\w{1,16})?(?![\w:])/g,
    fit: (match) => (isAddress(match) ? match : undefined),
  },
  {
    mask: "host",
    hint: /-\w+:\d/,
    shape: /(?<![\w.:/@-])[A-Za-z]\w{0,40}(?:-\w{1,40}){1,6}:\d{2,5}(?![\w:.-])/g,
  },
  {
    mask: "ip",
    hint: /\d\.\d{1,3}\.\d/,
    shape: /(?<![\w.~-]|\b[vV]ersion )\d{1,3}(?:\.\d{1,3}){3}(?:[:#]\d{1,5})?(?:\/\d{1,2})?(?!\w|\.\d)/g,
  },
];

/** Runs before `FIELD_MASKER`, because the query of a URL contains fields. */
export const URL_MASKER: Masker = {
  masks: ["url"],
  mask: (text, hit) => (text.includes("://") ? maskShape(text, URL, hit) : text),
};

/** Masks times, UUIDs and addresses. */
export const SHAPE_MASKER: Masker = {
  masks: [...new Set(SHAPES.map(({ mask }) => mask))],
  mask: maskShapes,
};

/** Every shape contains a digit, `@` or `::`. */
const ANY_HINT = /\d[-:./]|@|:[:\d]|[a-z] {1,2}\d|\d [A-Z]/;

function maskShapes(text: string, hit?: Hit): string {
  if (!ANY_HINT.test(text)) return text;
  let masked = text;
  for (const shape of SHAPES) if (shape.hint.test(masked)) masked = maskShape(masked, shape, hit);
  return masked;
}

function maskShape(text: string, { mask, shape, fit }: Shape, hit?: Hit): string {
  return replaceAll(text, shape, (match) => {
    const part = fit ? fit(match) : match;
    if (part === undefined || part === "") return undefined;
    hit?.(mask, part, `<${mask}>`);
    return `<${mask}>${match.slice(part.length)}`;
  });
}

/** Whether the match is a date such as `1.2.2024`, and not a version such as `6.1.7601`. */
function isDate(match: string): boolean {
  const [first = 0, second = 0, third = 0] = match.split(/[-/.T _:]/, 3).map(Number);
  if (first > 9_999_999) return true;
  const isYear = (year: number) => year >= 1900 && year < 2200;
  return first > 31
    ? isYear(first) && second <= 12 && third <= 31
    : first >= 1 && second >= 1 && second <= 31 && isYear(third);
}

/** Whether the match is an address: `12:30:` and `add::bad` consist of the same characters. */
function isAddress(match: string): boolean {
  return /\d/.test(match) && (match.includes("::") || match.split(":").length > 3);
}
