/** Words with digits in them that are neither numbers nor paths nor error codes: hashes, numbered names, measures, ids. */

const HEX = /^[\da-fA-F]{4,128}$/;
const HEX_PREFIXED = /^0[xX][\da-fA-F]{1,128}$/;
/** Nobody counts so far: it is a digest or a key. */
const HASH_CHARS_MIN = 17;
/** No counter of 64 bits has so many digits. */
export const HASH_DIGITS_MIN = 21;
/** `node-5`, `eth0`, `libfoo.2.1`: the name stays, its number goes. */
const NUMBERED = /^([A-Za-z](?:[A-Za-z_.-]*[A-Za-z])?)[_.-]{0,2}\d+(?:[._-]\d+)*$/;
/** `5ms`, `1h30m`: a length of time. */
const DURATION = /^[+-]?\d[\d.]*(?:ns|us|ms|s|m|h|d|min|mins|sec|secs|hr|hrs)(?:\d[\d.]*(?:ms|s|m|h))*$/;
/** `1.5GB`, `12k`, `3x`, `40%`: the unit stays, for it says what was counted. */
const SIZE = /^[+-]?\d[\d.]*(?:[kKMGTP]i?[Bb]?|B|b|bytes?)$/;
/** `order_17_x_0032`: what kind of id it is stays. */
const PREFIXED = /^([a-z]{3,})_/;
/** `1-2`, `3/5`, `12k/64k`: figures beside each other. */
const FIGURES = /^[\d.]+[a-zA-Z%]{0,3}(?:(?:[-/]|\.\.)\d[\d.]*[a-zA-Z%]{0,3})+$/;

/** Whether a word is two or more figures. */
export function areFigures(word: string): boolean {
  return FIGURES.test(word);
}

/** The mask of a word that has digits and other characters. */
export function maskMixed(word: string): string {
  if (HEX_PREFIXED.test(word)) return "<hex>";
  if (areFigures(word)) return "<num>";
  if (HEX.test(word)) return word.length >= HASH_CHARS_MIN ? "<hash>" : "<num>";
  const numbered = NUMBERED.exec(word);
  if (numbered) return `${numbered[1]}<num>`;
  if (DURATION.test(word)) return "<dur>";
  if (SIZE.test(word)) return "<size>";
  const prefixed = PREFIXED.exec(word);
  return prefixed ? `${prefixed[1]}<id>` : "<id>";
}
