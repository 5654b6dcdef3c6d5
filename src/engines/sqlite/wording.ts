/**
 * Splits a message for text search into a wording (a template in which each figure is a blank) and its figures (numbers,
 * hashes and most ids). A million messages have few different wordings, and these alone decide most searches. Pure
 * functions; text-search.ts searches.
 */

/** Replaces a figure in a wording, and encloses each figure in a list of them. */
export const BLANK = "\u0001";

/** Only the beginning of a longer message is indexed; searches read the rest from the message itself. */
const WORDING_CHARS_MAX = 1000;

/** The characters of numbers, hashes and most ids. A figure is a whole run of them that contains a digit. */
const RUN = /[0-9a-f]+/g;
const DIGIT = /[0-9]/;

/** A message in lower case, split into a template and its figures. */
export interface Wording {
  readonly text: string;
  /** The figures in order, with a blank around each; empty if there are none or the wording is open. */
  readonly figures: string;
  /** Whether the message may contain more than the text and the figures. */
  readonly isOpen: boolean;
}

export function wordingOf(message: string): Wording {
  const folded = message.toLowerCase();
  if (folded.includes(BLANK) || !isWellFormed(folded)) return { text: "", figures: "", isOpen: true };
  if (folded.length > WORDING_CHARS_MAX) {
    const head = folded.slice(0, WORDING_CHARS_MAX).replace(/[\ud800-\udbff]$/, "");
    return { text: blanked(head), figures: "", isOpen: true };
  }
  const figures = (folded.match(RUN) ?? []).filter(isFigure);
  if (figures.length === 0) return { text: folded, figures: "", isOpen: false };
  return { text: blanked(folded), figures: `${BLANK}${figures.join(BLANK)}${BLANK}`, isOpen: false };
}

/** SQLite cannot store lone surrogates. */
function isWellFormed(text: string): boolean {
  return !/[\ud800-\udfff]/u.test(text);
}

function blanked(text: string): string {
  return text.replace(RUN, (run) => (isFigure(run) ? BLANK : run));
}

function isFigure(run: string): boolean {
  return DIGIT.test(run);
}

/** One way in which a message can contain a text: as this part of the wording, with these parts of its figures. */
export interface Trace {
  readonly text: string;
  /** Each part must be in the list of figures. If there is none, the wording alone decides. */
  readonly figures: readonly string[];
}

/**
 * All ways in which a message can contain a text in lower case. A run of letters and digits at the start or end of the text
 * may continue in the message, and so may or may not be part of a figure.
 */
export function tracesOf(text: string): readonly Trace[] {
  let traces: readonly Trace[] = [{ text: "", figures: [] }];
  let at = 0;
  for (const { 0: run, index } of text.matchAll(RUN)) {
    const ways = waysOf(run, { isStart: index === 0, isEnd: index + run.length === text.length });
    const before = text.slice(at, index);
    traces = traces.flatMap((trace) =>
      ways.map((way) => ({
        text: trace.text + before + way.text,
        figures: [...trace.figures, ...way.figures],
      })),
    );
    at = index + run.length;
  }
  return traces.map((trace) => ({ ...trace, text: trace.text + text.slice(at) }));
}

function waysOf(run: string, { isStart, isEnd }: { isStart: boolean; isEnd: boolean }): readonly Trace[] {
  const asText: Trace = { text: run, figures: [] };
  const asFigure: Trace = { text: BLANK, figures: [`${isStart ? "" : BLANK}${run}${isEnd ? "" : BLANK}`] };
  if (isFigure(run)) return [asFigure];
  return isStart || isEnd ? [asText, asFigure] : [asText];
}
