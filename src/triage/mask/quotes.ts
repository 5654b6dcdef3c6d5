/**
 * Masks quoted operands, not quoted prose. Quotations may contain quotes and brackets, as types and JSON do, so the
 * closing quote is found by the text around it.
 */
import type { Hit, Masker } from "./masker.ts";
import { isWordCode } from "./words.ts";

export const QUOTE_MASKER: Masker = { masks: ["str"], mask: maskQuotes };

const CLOSING: Readonly<Record<string, string>> = {
  "\u2018": "\u2019",
  "\u201c": "\u201d",
  "\u00ab": "\u00bb",
};
const QUOTED_CHARS_MAX = 2000;
/** Bounds the total work, so that texts made of quotes do not take quadratic time. */
const SCANNED_CHARS_MAX = 32_768;

function maskQuotes(text: string, hit?: Hit): string {
  let masked = "";
  let from = 0;
  let scanned = 0;
  for (let at = nextQuote(text, 0); at >= 0 && scanned < SCANNED_CHARS_MAX; at = nextQuote(text, at + 1)) {
    if (at > 0 && endsWord(text, at)) continue; // an apostrophe or a closing quote
    const end = closingOf(text, at);
    scanned += end < 0 ? Math.min(QUOTED_CHARS_MAX, text.length - at) : end - at;
    if (end < 0) continue;
    const inner = text.slice(at + 1, end);
    const word = maskOf(inner);
    if (word !== inner) hit?.("str", inner, word);
    masked += text.slice(from, at + 1) + word;
    from = end;
    at = end;
  }
  return masked + text.slice(from);
}

const MASK_AT_END = /<[a-z]{2,5}>$/;
const MASK_CHARS_MAX = 7;

function endsWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at - 1);
  return (
    isWordCode(code) || (code === 62 && MASK_AT_END.test(text.slice(Math.max(0, at - MASK_CHARS_MAX), at)))
  );
}

const MASK_AT_START = /<[a-z]{2,5}>/y;

function beginsWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code !== 60) return isWordCode(code);
  MASK_AT_START.lastIndex = at;
  return MASK_AT_START.test(text);
}

const QUOTE = /["'`\u2018\u201c\u00ab]/g;

function nextQuote(text: string, from: number): number {
  QUOTE.lastIndex = from;
  return QUOTE.exec(text)?.index ?? -1;
}

function closingOf(text: string, at: number): number {
  const quote = text[at] ?? "";
  if (isSingleSymbol(text, at, quote)) return at + 2;
  const cut = closingOfCut(text, at, quote);
  if (cut > 0) return cut;
  if (quote === "`") {
    const end = apostropheAfter(text, at);
    if (end > 0) return end;
  }
  const other = CLOSING[quote];
  return other === undefined ? closingSame(text, at, quote) : text.indexOf(other, at + 1);
}

/** The end of quoted data that an ellipsis cuts, such as `..."ice": 7}"`, in which brackets and quotes are unbalanced; or -1. */
function closingOfCut(text: string, at: number, quote: string): number {
  if (text.startsWith("...", at - 3)) {
    const last = text.lastIndexOf(quote, at + QUOTED_CHARS_MAX);
    return last > at ? last : -1;
  }
  const isData = text[at + 1] === "{" || text[at + 1] === "[";
  const ellipsis = isData ? text.indexOf(`...${quote}`, at) : -1;
  return ellipsis < 0 || ellipsis > at + QUOTED_CHARS_MAX ? -1 : ellipsis + 3;
}

/** Whether a single symbol is quoted, such as `'('`, whose bracket never closes. */
function isSingleSymbol(text: string, at: number, quote: string): boolean {
  const code = text.charCodeAt(at + 1);
  return (
    text[at + 2] === quote &&
    code < 128 &&
    code > 32 &&
    text[at + 1] !== quote &&
    !isWordCode(text.charCodeAt(at + 3))
  );
}

const QUOTED_BY_GNU = /`[^`']{1,80}'(?!\w)/y;

/** The end of a quotation such as `total', as older programs write it; -1 when it is not one. */
function apostropheAfter(text: string, at: number): number {
  QUOTED_BY_GNU.lastIndex = at;
  return QUOTED_BY_GNU.test(text) ? QUOTED_BY_GNU.lastIndex - 1 : -1;
}

/** Finds the first closing quote outside inner quotations with balanced brackets before it, or else the first one. */
function closingSame(text: string, at: number, quote: string): number {
  const end = Math.min(text.length, at + QUOTED_CHARS_MAX);
  let depth = 1;
  let open = 0;
  let first = -1;
  for (let index = at + 1; index < end; index += 1) {
    const char = text[index] ?? "";
    if (char !== quote) {
      if (char === "(" || char === "[" || char === "{") open += 1;
      else if (char === ")" || char === "]" || char === "}") open -= 1;
    } else if (opensInside(text, index, at)) depth += 1;
    else if (!beginsWord(text, index + 1)) {
      if (depth > 1) depth -= 1;
      else if (open === 0) return index;
      else if (first < 0) first = index;
    }
  }
  return first < 0 ? -1 : endOfAll(text, first, quote);
}

/** Whether the quote opens an inner quotation: it follows a blank or a bracket, and text follows it. */
function opensInside(text: string, index: number, at: number): boolean {
  const after = text[index + 1];
  if (after === undefined) return false;
  if (index === at + 1) return beginsWord(text, index + 1); // doubled: ''like this''
  return " ([{=,:|<&".includes(text[index - 1] ?? "") && !" .,;:)]}".includes(after);
}

/** Handles unbalanced brackets: if the text ends with the quote, everything up to it was quoted. */
function endOfAll(text: string, first: number, quote: string): number {
  const last = text.lastIndexOf(quote);
  return last > first && /^["'`.)\]}]{0,4}$/.test(text.slice(last + 1, last + 6)) && last >= text.length - 5
    ? last
    : first;
}

const REQUEST = /^(GET|POST|PUT|DELETE|HEAD|PATCH|OPTIONS) /;
const PROSE = /^(?:[A-Za-z][a-z']*|<[a-z]{2,5}>),?(?: (?:[A-Za-z']+|<[a-z]{2,5}>)[,.:]?){3,}[.!?]?$/;
const PROSE_CHARS_MAX = 300;
/** Words of a sentence about a failure. Other quoted sentences are values, such as titles and subjects. */
const ABOUT_FAILURE =
  /(?:^| )(?:not|no|cannot|can't|fail(?:ed|s|ure)?|error|invalid|denied|refused|missing|unknown|unable|timed|exceeded|expired|is|was|are|has|does|did|must|too|out|already|unexpected|unsupported|without|wrong|bad)(?= |$|[.,:])/i;

/** Returns the mask. A sentence about a failure stays. A request keeps its method, because GET may fail where POST succeeds. */
function maskOf(inner: string): string {
  const request = REQUEST.exec(inner);
  if (request) return `${request[1]} <str>`;
  return inner.length <= PROSE_CHARS_MAX && PROSE.test(inner) && ABOUT_FAILURE.test(inner) ? inner : "<str>";
}
