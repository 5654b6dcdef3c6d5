/** Masks data types of programming languages that are not quoted, such as `Map<String, Cart>`, and regular expressions. */
import { type Hit, type Masker, replaceAll } from "./masker.ts";

export const TYPE_MASKER: Masker = { masks: ["type", "regex"], mask: maskTypes };

const TYPE_HINT = /[\w.]<[A-Za-z_&*'([]|\]\w|\*[A-Za-z_]|e\{\}|t\{\}/;
const INNER = "[\\w.:&*()'?[\\] ]";
const TYPE = new RegExp(
  [
    // `List<Int>`, `Map<String, Cart>?`
    `(?<![\\w<>@/])[A-Za-z_][\\w.:]{0,60}<(?=[A-Za-z_&*'([])${INNER}{1,60}(?:, ?${INNER}{1,60}){0,6}>\\??(?![\\w<>])`,
    // `[]byte`, `*Cart`, `map[string]int`
    "(?<![\\w\\])>])(?:\\[\\]|\\*|map\\[[\\w.*]{1,60}\\]){1,4}[A-Za-z_][\\w.]{0,60}(?:\\{\\})?(?=[\\s,:;)]|$)",
    "\\b(?:interface|struct)\\{\\}",
  ].join("|"),
  "g",
);
const MASK = /<[a-z]{2,5}>/;

/** A pattern between slashes; without a special character it is a path. */
const REGEX = /(?<![\w./>])\/(?=[^\s/]{0,80}[()[\]*+?^$|\\])[^\s/]{1,80}\/[a-z]{0,5}(?![\w/<])/g;

function maskTypes(text: string, hit?: Hit): string {
  const types = TYPE_HINT.test(text)
    ? replaceAll(text, TYPE, (match) => (MASK.test(match) ? undefined : masked("type", match, hit)))
    : text;
  return types.includes("/") ? replaceAll(types, REGEX, (match) => masked("regex", match, hit)) : types;
}

function masked(mask: string, match: string, hit?: Hit): string {
  hit?.(mask, match, `<${mask}>`);
  return `<${mask}>`;
}
