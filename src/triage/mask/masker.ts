/** What a masker is: it finds one kind of thing that differs from item to item, and puts a word in its place. */

/** Told of each thing that was masked: by which mask, what stood there, and what stands there now. */
export type Hit = (mask: string, before: string, after: string) => void;

/** One pass over the text. It may write several masks; `MASKS` gives the reason of each. */
export interface Masker {
  /** The text with every match replaced. Time and result depend on the text alone. */
  readonly mask: (text: string, hit?: Hit) => string;
  /** Which masks it writes, without their angle brackets. */
  readonly masks: readonly string[];
}

/** What `text.replace` would do, for matches that a function may refuse by answering undefined. */
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
