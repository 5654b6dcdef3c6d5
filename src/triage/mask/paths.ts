/** Paths of files and names of hosts. */
import { DIGIT, DOT, isWordEnd, SLASH } from "./characters.ts";
import { FILE_ENDING, HOST_NAME } from "./vocabulary.ts";

/** `src/components` has the form of `and/or`, but begins with a folder that many projects have. */
const PROJECT_FOLDER =
  /^(?:apps|cmd|components|dist|docs|examples|lib|libs|modules|node_modules|packages|pages|pkg|scripts|src|tests|tools|vendor)[/\\]/;

/** Whether a word is a path: `and/or` and `N/A` are words. */
export function isPath(word: string, kinds: number): boolean {
  if ((kinds & SLASH) === 0) return (kinds & DOT) !== 0 && FILE_ENDING.test(word);
  if (word.length === 1) return false;
  if ((kinds & (DIGIT | DOT)) !== 0 || PROJECT_FOLDER.test(word)) return true;
  return /^(?:[/~.]|[A-Za-z]:\\)|[/\\].*[/\\]/.test(word);
}

/** Whether a word is the name of a host. */
export function isHost(word: string, kinds: number): boolean {
  return (kinds & DOT) !== 0 && HOST_NAME.test(word);
}

/** `:3:4`, `(3,4)` and `:3`: where in the file. */
const POSITION = /:\d{1,7}(?:[:-]\d{1,7}){0,3}|\(\d{1,7}(?:,\d{1,7}){0,3}\)/y;

/** Where the position behind a path ends; the end of the path when there is none. */
export function positionEnd(text: string, end: number): number {
  POSITION.lastIndex = end;
  return POSITION.test(text) && isWordEnd(text, POSITION.lastIndex) ? POSITION.lastIndex : end;
}
