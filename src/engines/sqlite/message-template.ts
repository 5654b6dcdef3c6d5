/**
 * Splits a message for text search into a template, in which each parameter is replaced by a blank, and its
 * parameters (numbers, hashes and most ids). A million messages have few different templates, and these alone
 * decide most searches. Pure functions; text-search.ts does the searching.
 */

/** Replaces a parameter in a template, and surrounds each parameter in a list. */
export const BLANK = "\u0001";

/** Only the beginning of a longer message is indexed; searches read the rest from the message itself. */
const TEMPLATE_CHARS_MAX = 1000;

/** The characters of numbers, hashes and most ids. A parameter is a whole run of them that contains a digit. */
const RUN = /[0-9a-f]+/g;
const DIGIT = /[0-9]/;

/** A message in lower case, split into a template and its parameters. */
export interface MessageTemplate {
  readonly text: string;
  /** The parameters in order, with a blank around each; empty if there are none or the template is open. */
  readonly parameters: string;
  /** Whether the message may contain more than the template and the parameters. */
  readonly isOpen: boolean;
}

export function templateOf(message: string): MessageTemplate {
  const folded = message.toLowerCase();
  if (folded.includes(BLANK) || !isWellFormed(folded)) return { text: "", parameters: "", isOpen: true };
  if (folded.length > TEMPLATE_CHARS_MAX) {
    const head = folded.slice(0, TEMPLATE_CHARS_MAX).replace(/[\ud800-\udbff]$/, "");
    return { text: blanked(head), parameters: "", isOpen: true };
  }
  const parameters = (folded.match(RUN) ?? []).filter(isParameter);
  if (parameters.length === 0) return { text: folded, parameters: "", isOpen: false };
  return { text: blanked(folded), parameters: `${BLANK}${parameters.join(BLANK)}${BLANK}`, isOpen: false };
}

/** SQLite cannot store lone surrogates. */
function isWellFormed(text: string): boolean {
  return !/[\ud800-\udfff]/u.test(text);
}

function blanked(text: string): string {
  return text.replace(RUN, (run) => (isParameter(run) ? BLANK : run));
}

function isParameter(run: string): boolean {
  return DIGIT.test(run);
}

/**
 * One way in which a message can contain a text: as this part of the template, with these parts of the
 * parameters.
 */
export interface Candidate {
  readonly text: string;
  /** Each part must occur in the list of parameters. If there are none, the template alone decides. */
  readonly parameters: readonly string[];
}

/**
 * Returns all ways in which a message can contain a lower-case text. A run of letters and digits at the start
 * or end of the text may continue in the message, and so may or may not be part of a parameter.
 */
export function candidatesOf(text: string): readonly Candidate[] {
  let candidates: readonly Candidate[] = [{ text: "", parameters: [] }];
  let at = 0;
  for (const { 0: run, index } of text.matchAll(RUN)) {
    const ways = waysOf(run, { isStart: index === 0, isEnd: index + run.length === text.length });
    const before = text.slice(at, index);
    candidates = candidates.flatMap((candidate) =>
      ways.map((way) => ({
        text: candidate.text + before + way.text,
        parameters: [...candidate.parameters, ...way.parameters],
      })),
    );
    at = index + run.length;
  }
  return candidates.map((candidate) => ({ ...candidate, text: candidate.text + text.slice(at) }));
}

function waysOf(run: string, { isStart, isEnd }: { isStart: boolean; isEnd: boolean }): readonly Candidate[] {
  const asText: Candidate = { text: run, parameters: [] };
  const asParameter: Candidate = {
    text: BLANK,
    parameters: [`${isStart ? "" : BLANK}${run}${isEnd ? "" : BLANK}`],
  };
  if (isParameter(run)) return [asParameter];
  return isStart || isEnd ? [asText, asParameter] : [asText];
}
