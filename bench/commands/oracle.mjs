/** Judges how a command ended. What it finds is a violation: a person or a script could not make sense of the answer. */

/** The documented ones; 129, 130 and 143 are those of signals. */
const EXIT_CODES = new Set([0, 1, 2, 3, 4, 5, 75, 129, 130, 143]);
const STACK_FRAME = /^\s+at .*(?:[:(][^\s)]+:\d+:\d+|\(native\)|<anonymous>|node:)/m;
const INTERNALS =
  /\[object \w+\]|\bundefined\b|\bNaN\b|TypeError|RangeError|ReferenceError|AssertionError|ERR_[A-Z_]+/;

/** What is wrong, or null. `result` is what the command printed and returned, or the error that escaped from it. */
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
  const isOneLine = !words.some((word) => word.includes("\n")); // a message may quote what was given
  for (const line of stderr.split("\n").filter((one) => isOneLine && one.startsWith("redrive: "))) {
    const found = judgeSentence(line.slice("redrive: ".length), words);
    if (found !== null) return found;
  }
  if (code !== 0 && stderr.trim() === "" && stdout.trim() === "") return `exit code ${code} without a word`;
  if (wasForced) return null; // by a second signal: nothing is waited for, not even the answer
  return isJson ? judgeJson({ code, stdout, own, words }) : null;
}

/** A code alone, such as a SQLSTATE or an errno, is no sentence. */
function judgeSentence(text, words) {
  if (text.trim().split(/\s+/).length < 3) return `no sentence: ${text.slice(0, 200)}`;
  const found = INTERNALS.exec(text);
  return found && !words.some((word) => word.includes(found[0])) ? `it printed ${found[0]}` : null;
}

/** One object a line, as documented. */
const FOLLOWS = ["--follow", "--watch", "-w"];
const LINES = [["groups", "preview"], ["watch"]];
/** Text that is no answer of ours: a script for a shell, the candidates of a completion, a letter's own bytes. */
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

/** An answer may carry the exit code of what it reports: a list of problems, letters that could not be sent. */
function isSummary(document) {
  return typeof document === "object" && document !== null && Object.keys(document).length > 1;
}
