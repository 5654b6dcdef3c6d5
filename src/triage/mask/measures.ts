/** Units behind a number: "3 seconds", "2.5 MB". One second and two seconds are the same message. */

const TIME = /^(?:(?:milli|micro|nano)?sec(?:ond)?s?|[mun]secs?|m?s|min(?:ute)?s?|hours?|hrs?|days?|weeks?)$/;
const SIZE = /^(?:[KMGTP]i?B|kB|B|bytes?)$/;

/** The mask of a number with this word behind it; undefined when the word is no unit. */
export function measureMask(word: string): string | undefined {
  if (TIME.test(word)) return "<dur>";
  return SIZE.test(word) ? "<size>" : undefined;
}
