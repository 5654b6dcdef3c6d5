/** Checks how a command ended. A violation is a result that neither a person nor a script could understand. */

/** The documented exit codes; 129, 130 and 143 are those of signals. */
const EXIT_CODES = new Set([0, 1, 2, 3, 4, 5, 75, 129, 130, 143]);
const STACK_FRAME = /^\s+at .*(?:[:(][^\s)]+:\d+:\d+|\(native\)|<anonymous>|node:)/m;
const INTERNALS =
  /\[object \w+\]|\bundefined\b|\bNaN\b|TypeError|RangeError|ReferenceError|AssertionError|ERR_[A-Z_]+/;

/** Returns the violation, or null. `result` is the output and exit code of the command, or the error that it threw. */
export function judge({ code, stdout, stderr, crash, isLate, wasForced = false, words }) {
  if (crash !== undefined) return `it crashed: ${crash?.stack ?? crash}`;
  if (isLate) return "it did not end";
  if (!EXIT_CODES.has(code)) return `exit code ${code}`;
  if (STACK_FRAME.test(stderr) || (code === 75 && STACK_FRAME.test(stdout)))
    return "it printed a stack trace";
  const separator = words.indexOf("--");
  const own = separator < 0 ? words : words.slice(0, separator);
  if (own.includes("--help") || own.includes("help")) return null;
  const isJson = own.includes("--json");
  const isOneLine = !words.some((word) => word.includes("\n")); // a message may quote its input
  for (const line of stderr.split("\n").filter((one) => isOneLine && one.startsWith("redrive: "))) {
    const found = judgeSentence(line.slice("redrive: ".length), words);
    if (found !== null) return found;
  }
  if (code !== 0 && stderr.trim() === "" && stdout.trim() === "") return `exit code ${code} without a word`;
  if (wasForced) return null; // a second signal ends it at once, without a result
  return isJson ? judgeJson({ code, stdout, own, words }) : null;
}

/** A bare code, such as a SQLSTATE or an errno, is not a sentence. */
function judgeSentence(text, words) {
  if (text.trim().split(/\s+/).length < 3) return `no sentence: ${text.slice(0, 200)}`;
  const found = INTERNALS.exec(text);
  return found && !words.some((word) => word.includes(found[0])) ? `it printed ${found[0]}` : null;
}

/** Options that print one JSON object per line, as documented. */
const FOLLOWS = ["--follow", "--watch", "-w"];
const LINES = [["groups", "preview"], ["watch"]];
/** Commands that print other text: a shell script, completion candidates, the raw data of a letter. */
const TEXT = [["completion"], ["complete-words"]];

function judgeJson({ code, stdout, own, words }) {
  const isOneOf = (names) => names.some((name) => name.every((word, index) => own[index] === word));
  const isText = isOneOf(TEXT) && code === 0;
  if (isText) return null;
  const isStream = isOneOf(LINES) || own.some((word) => FOLLOWS.includes(word));
  const documents = parsed(stdout) ?? (isStream ? linesOf(stdout) : undefined);
  if (documents === undefined) return `--json printed no JSON document: ${stdout.slice(0, 300)}`;
  const { error } = documents.at(-1) ?? {};
  if ([2, 4, 75].includes(code) && !isErrorDocument(error) && !isSummary(documents.at(-1)))
    return `exit ${code} without an error in the JSON document: ${stdout.slice(0, 300)}`;
  if (error === undefined || error === null || typeof error !== "object") return null;
  if (!isErrorDocument(error)) return "the error has no code or message";
  return judgeSentence(error.message, words);
}

function parsed(text) {
  try {
    return [JSON.parse(text)];
  } catch {
    return undefined;
  }
}

function linesOf(text) {
  const documents = text.split("\n").filter((line) => line.trim() !== "");
  const values = documents.map((line) => parsed(line)?.[0]);
  return values.includes(undefined) ? undefined : values;
}

function isErrorDocument(error) {
  return typeof error?.code === "string" && typeof error.message === "string";
}

/** A result may have the exit code of what it reports, such as a list of problems or of letters that were not sent. */
function isSummary(document) {
  return typeof document === "object" && document !== null && Object.keys(document).length > 1;
}
