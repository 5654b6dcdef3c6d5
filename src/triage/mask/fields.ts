/** Fields of structured messages: `cart=17 shop=north till=10.0.0.1`. The keys say what it is, the values are the item's. */
import type { Hit, Masker } from "./masker.ts";

export const FIELD_MASKER: Masker = { masks: ["val", "bool"], mask: maskFields };

/** It begins with the `=`, so that texts without fields cost nothing. */
const FIELD = /=(?<=[A-Za-z_][\w.-]{0,60}=)(?![=>~<])[^\s,;()&"'`[\]{}<>|]{1,400}/g;
/** `x is true`, `ready: false`, `visible = true`: the answer of one item. */
const ANSWER = /((?<![^\s])(?:is|was)|\w:|=) (true|false)(?![\w.<])/g;
/** These values say which failure it was. */
const TELLING_KEY =
  /(?:^|[^A-Za-z])(?:exit|status|code|errno)$|[a-z](?:Code|Status|Errno)$|(?:exit|status|error)code$/;
const KEY_CHARS_MAX = 12;

function maskFields(text: string, hit?: Hit): string {
  const fields = text.includes("=") ? maskPairs(text, hit) : text;
  return / (?:true|false)/.test(fields) ? maskAnswers(fields, hit) : fields;
}

function maskAnswers(text: string, hit?: Hit): string {
  return text.replace(ANSWER, (_match, before: string, answer: string) => {
    hit?.("bool", answer, "<bool>");
    return `${before} <bool>`;
  });
}

function maskPairs(text: string, hit?: Hit): string {
  return text.replace(FIELD, (match: string, at: number) => {
    if (TELLING_KEY.test(text.slice(Math.max(0, at - KEY_CHARS_MAX), at))) return match;
    hit?.("val", match.slice(1), "<val>");
    return "=<val>";
  });
}
