/**
 * The file in a message of the operating system: `gzip: notes: No such file or directory`. Programs print the name without
 * quotes, and a name without a slash or an ending looks like any other word; its position identifies it.
 */
import { type Hit, type Masker, replaceAll } from "./masker.ts";

export const SYSTEM_ERROR_MASKER: Masker = { masks: ["path"], mask: maskFiles };

const REASON =
  "(?:no such file or directory|permission denied|is a directory|not a directory|file exists|directory not empty|operation not permitted|read-only file system|text file busy|file name too long|too many levels of symbolic links)";
/** Behind the name of a program, or behind what was done with the file. "error: open: …" names no file. */
const BEFORE =
  "(?:(?:^|[\\s(])(?!(?:error|fatal|warning|err):)[a-z][\\w.+-]{0,40}: |\\b(?:access|chdir|chmod|execute|lstat|mkdir|open|opening|read|reading|remove|rename|stat|unlink|write|writing) )";
const FILE = new RegExp(`(?<=${BEFORE})[^\\s:<>"'\`()]{1,255}(?=: ${REASON}(?!\\w))`, "gi");
const WORTH_A_LOOK = new RegExp(`: ${REASON}`, "i");

function maskFiles(text: string, hit?: Hit): string {
  if (!WORTH_A_LOOK.test(text)) return text;
  return replaceAll(text, FILE, (file) => {
    hit?.("path", file, "<path>");
    return "<path>";
  });
}
