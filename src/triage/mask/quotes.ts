/**
 * Quoted operands: `'left-pad'` in "Cannot find module 'left-pad'". Quotes may hold quotes and brackets of their own, as
 * types and JSON do, so the closing one is found by what stands around it. Quoted prose is the message itself and stays.
 */
import { isWordCode } from "./characters.ts";
import type { Hit, Masker } from "./masker.ts";

export const QUOTE_MASKER: Masker = { masks: ["str"], mask: maskQuotes };

const CLOSING: Readonly<Record<string, string>> = {
  "\u2018": "\u2019",
  "\u201c": "\u201d",
  "\u00ab": "\u00bb",
};
/** How far a quotation reaches at most. */
const QUOTED_CHARS_MAX = 2000;
/** Texts made of quotes alone must not cost the square of their length. */
const LOOKED_CHARS_MAX = 32_768;

function maskQuotes(text: string, hit?: Hit): string {
  let masked = "";
  let from = 0;
  let looked = 0;
  for (let at = nextQuote(text, 0); at >= 0 && looked < LOOKED_CHARS_MAX; at = nextQuote(text, at + 1)) {
    if (at > 0 && endsWord(text, at)) continue; // an apostrophe, or the end of something
    const end = closingOf(text, at);
    looked += end < 0 ? Math.min(QUOTED_CHARS_MAX, text.length - at) : end - at;
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
  const other = CLOSING[quote];
  return other === undefined ? closingSame(text, at, quote) : text.indexOf(other, at + 1);
}

/** The first closing quote outside of inner quotations after which the brackets inside are balanced; else the first. */
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

/** A quote behind a blank or a bracket, with something right behind it. */
function opensInside(text: string, index: number, at: number): boolean {
  const after = text[index + 1];
  if (after === undefined) return false;
  if (index === at + 1) return beginsWord(text, index + 1); // doubled: ''like this''
  return " ([{=,:|<&".includes(text[index - 1] ?? "") && !" .,;:)]}".includes(after);
}

/** Brackets that never balance: when the text ends with the quote, all of it was quoted. */
function endOfAll(text: string, first: number, quote: string): number {
  const last = text.lastIndexOf(quote);
  return last > first && /^["'`.)\]}]{0,4}$/.test(text.slice(last + 1, last + 6)) && last >= text.length - 5
    ? last
    : first;
}

const REQUEST = /^(GET|POST|PUT|DELETE|HEAD|PATCH|OPTIONS) /;
const PROSE = /^(?:[A-Za-z][a-z']*|<[a-z]{2,5}>),?(?: (?:[A-Za-z']+|<[a-z]{2,5}>)[,.:]?){3,}[.!?]?$/;
const PROSE_CHARS_MAX = 300;

/** A request keeps its method: what fails for GET may work for POST. */
function maskOf(inner: string): string {
  const request = REQUEST.exec(inner);
  if (request) return `${request[1]} <str>`;
  return inner.length <= PROSE_CHARS_MAX && PROSE.test(inner) ? inner : "<str>";
}
