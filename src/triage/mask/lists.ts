/** Repetitions: a list of operands is one operand, however many there were; so is a call, whatever it was called with. */
import type { Hit, Masker } from "./masker.ts";

export const LIST_MASKER: Masker = { masks: ["list"], mask: collapse };

const CALL = /<name>\([^()<>"'`]{1,200}\)/g;
const TYPES =
  /(?:<name>|\btime|\btimestamp) with(?:out)? time zone\b|\b(?:<name>|double) precision\b|\bcharacter varying\b|<name>(?:\(<num>\)|\[\])+/g;
const MASKS = /(?<![\w/@])([A-Za-z_/@]{0,30}<[a-z]{2,5}>)(?:(?:[,;|]? |[,;:|./#-]|, ?)\1)+/g;
const QUOTED = /((["'`])<str>\2)(?:(?:,|,? and|,? or) \1)+/g;
const AND_MORE = /(?<![\w\-./\\@%+~$#*<>\u0080-\uffff])(?:[\w$]{1,100}, ){2,50}(?=and <num> more)/g;
/** A mask soon followed by another. */
const WORTH_A_LOOK =
  /<[a-z]{2,5}>["'`]?[ ,;:|./#-]{1,6}(?:and |or )?["'`]?[A-Za-z_/@]{0,30}<|<name>\(|<name>\[| zone| more\b|precision|varying/;

/** Lists within lists come together one after the other; more than this nobody nests. */
const ROUNDS_MAX = 4;

function collapse(text: string, hit?: Hit): string {
  let lists = text;
  for (let round = 0; round < ROUNDS_MAX && WORTH_A_LOOK.test(lists); round += 1) {
    const before = lists;
    lists = collapseOnce(lists);
    if (lists === before) break;
  }
  if (lists !== text) hit?.("list", text, lists);
  return lists;
}

function collapseOnce(text: string): string {
  const masks = text.replace(MASKS, "$1").replace(QUOTED, "$1");
  const lists = masks.includes("> more") ? masks.replace(AND_MORE, "<list>, ") : masks;
  return lists.replace(CALL, "<name>()").replace(TYPES, "<name>");
}
