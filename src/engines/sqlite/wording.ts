/**
 * A message taken apart for the search of texts: its wording, in which every figure is a blank, and the figures. Of a
 * million messages that tell of a million items few wordings are different, and most texts that people look for are
 * found, or not, in those alone. Pure functions; how a text is looked for is `text-search.ts`.
 */

/** Stands for a figure, and before, between and after figures in a list of them. */
export const BLANK = "\u0001";

/** Of a longer message only the beginning is kept, and the rest is looked at where it lies. */
const WORDING_CHARS_MAX = 1000;

/** The letters and digits of numbers, hashes and most ids. A figure is a whole run of them that has a digit. */
const RUN = /[0-9a-f]+/g;
const DIGIT = /[0-9]/;

/** A message in small letters, taken apart. */
export interface Wording {
  readonly text: string;
  /** In their order, with a blank around each; empty when there is none, and of an open wording. */
  readonly figures: string;
  /** More may be in the message than the text says. */
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

/** Half of a pair of characters cannot be written down in SQLite. */
function isWellFormed(text: string): boolean {
  return !/[\ud800-\udfff]/u.test(text);
}

function blanked(text: string): string {
  return text.replace(RUN, (run) => (isFigure(run) ? BLANK : run));
}

function isFigure(run: string): boolean {
  return DIGIT.test(run);
}

/** One way in which a text can be in a message: as this part of the wording, with these parts of its figures. */
export interface Trace {
  readonly text: string;
  /** Each is in the list of figures. Without any, the wording alone says that the text is in the message. */
  readonly figures: readonly string[];
}

/**
 * All ways in which a text, in small letters, can be in a message. What is inside of it has its end there; a run of
 * letters and digits at its start or end may go on in the message, and then be part of a figure or not.
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
