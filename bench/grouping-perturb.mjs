/**
 * Changes labelled lines in ways that must not change their group (another host, number, path, identifier, quote or
 * optional part), and in ways that must (another error code, another verb). Deterministic.
 */

const SAMPLES_MAX = 400;

/** Each rule returns the changed text, or the text itself where it does not apply. */
export const SAME = {
  hosts: (text, next) =>
    text
      .replace(IPV4, () => `${10 + next(200)}.${next(250)}.${next(250)}.${1 + next(250)}`)
      .replace(HOST, () => `${pick(WORDS, next)}${next(90)}.${pick(WORDS, next)}.net`),
  numbers: (text, next) =>
    text.replace(NUMBER, (number, at) => (isCode(text, at) ? number : String(2 + next(10 ** (1 + next(7)))))),
  paths: (text, next) =>
    text.replace(
      PATH,
      (path) => `/${pick(WORDS, next)}/${pick(WORDS, next)}-${next(99)}/${path.split("/").at(-1)}`,
    ),
  ids: (text, next) =>
    text
      .replace(UUID, (uuid) => uuid.replace(/[\da-f]/gi, () => next(16).toString(16)))
      .replace(DIGEST, (digest) => digest.replace(/[\da-f]/gi, () => next(16).toString(16))),
  operands: (text, next) =>
    text.replace(QUOTED, (match, quote) =>
      IDENTIFIER.test(match.slice(1, -1)) ? `${quote}${name(next)}${quote}` : match,
    ),
  quotes: (text, next) => {
    const quote = pick(['"', "'", "`"], next);
    return text.replace(QUOTED, (match) => `${quote}${match.slice(1, -1)}${quote}`);
  },
  "optional parts": (text, next) =>
    text
      .replace(IPV4, (address) => `${address} (${next(2) ? "" : `${pick(WORDS, next)}.example.org`})`)
      .replace(/(?<![\w.])(\d+) bytes\b(?! \()/g, (match) => `${match} (${1 + next(9)}.${next(99)} KB)`)
      .replace(
        /(\b(?:for|in|of) )(["'`])([A-Za-z_]\w*)\2(?! of)/g,
        (match, _word, quote) => `${match} of ${quote}${name(next)}${quote}`,
      ),
};

export const OTHER = {
  "exit code": (text) => [`make failed with exit code 1: ${text}`, `make failed with exit code 2: ${text}`],
  "HTTP status": (text) => [`HTTP 404: ${text}`, `HTTP 500: ${text}`],
  "error code": (text) => [`error[E0308]: ${text}`, `error[E0277]: ${text}`],
  verb: (text) => {
    const changed = text.replace(VERB, (verb) => VERBS.get(verb) ?? verb);
    return [text, changed];
  },
};

const WORDS = ["harbor", "violet", "lantern", "copper", "meadow", "falcon", "timber", "quartz"];
const IPV4 = /(?<![\w.:/-])(?!0\.0\.0\.0|127\.)\d{1,3}(?:\.\d{1,3}){3}(?![\w.])/g;
const HOST = /(?<![\w./:@\\-])[a-z][a-z\d-]+(?:\.[a-z][a-z\d-]+)+\.(?:com|net|org|edu|cn)(?![\w.(-])/g;
const NUMBER = /(?<=^|[\s=:(])(?<!\d:)\d{1,7}(?=$|[\s,;)]|\.(?:\s|$))/g;
const PATH = /(?<![\w/.:<])(?:\/[\w.@+-]+){2,8}(?![\w/<])/g;
const UUID = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi;
const DIGEST = /\b(?=[a-f]*\d)(?:[\da-f]{32}|[\da-f]{40}|[\da-f]{64})\b/g;
const QUOTED = /(?<![\w'"`)\]])(["'`])(?:(?!["'`]).){1,80}\1(?![\w'"`])/g;
const IDENTIFIER = /^[A-Za-z_]\w{0,40}$/;
/** Words before a number that make it a code or a part of a date. */
const CODE_BEFORE =
  /(?:\b(?:code|status|errno|exit|exited|returned|signal|error|err|http|https|https?\/[\d.]+|version|v|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\W{0,3}|[A-Z]{1,4}-)$/i;
const VERBS = new Map(
  [
    ["open", "close"],
    ["read", "write"],
    ["create", "delete"],
    ["start", "stop"],
    ["started", "stopped"],
    ["connect", "listen"],
    ["missing", "duplicate"],
    ["unexpected", "expired"],
    ["failed", "succeeded"],
    ["found", "allowed"],
    ["received", "dropped"],
    ["accepted", "rejected"],
    ["Accepted", "Rejected"],
    ["Failed", "Succeeded"],
    ["assign", "compare"],
    ["declared", "exported"],
    ["invalid", "obsolete"],
    ["must", "should"],
    ["add", "remove"],
    ["defined", "implemented"],
  ].flatMap(([one, other]) => [
    [one, other],
    [other, one],
  ]),
);
/** A verb between blanks: inside quotations, names and paths it is data. */
const VERB = new RegExp(`(?<=^|[a-z,] )(?:${[...VERBS.keys()].join("|")})(?= [a-z]|$)`);

function isCode(text, at) {
  return CODE_BEFORE.test(text.slice(Math.max(0, at - 20), at)) || /^[45]\d\d\b/.test(text.slice(at, at + 4));
}

function pick(list, next) {
  return list[next(list.length)];
}

function name(next) {
  return `${pick(WORDS, next)}${pick(["", "_Item", "Count", String(next(50))], next)}`;
}

/** A small generator of pseudo-random numbers below `limit`. */
function generator(seed) {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

function seedOf(text) {
  let seed = 7;
  for (let at = 0; at < text.length; at += 1) seed = (Math.imul(seed, 31) + text.charCodeAt(at)) | 0;
  return seed;
}

/** Picks distinct texts evenly from a set. */
export function sampled(texts) {
  const distinct = [...new Set(texts)].sort((a, b) => seedOf(a) - seedOf(b) || (a < b ? -1 : 1));
  return distinct.slice(0, SAMPLES_MAX);
}

/** For each rule: how many changed texts got the right answer, how many there were, and some that did not. */
export function perturb(texts, keyOf) {
  const results = {};
  const count = (rule, isRight, pair) => {
    results[rule] ??= { right: 0, all: 0, wrong: [] };
    const result = results[rule];
    result.all += 1;
    if (isRight) result.right += 1;
    else result.wrong.push(pair);
  };
  for (const text of texts) {
    for (const [rule, change] of Object.entries(SAME)) {
      const changed = change(text, generator(seedOf(text)));
      if (changed !== text) count(rule, keyOf(changed) === keyOf(text), [text, changed]);
    }
    for (const [rule, change] of Object.entries(OTHER)) {
      const [one, other] = change(text);
      if (one !== other) count(rule, keyOf(one) !== keyOf(other), [one, other]);
    }
  }
  return results;
}
