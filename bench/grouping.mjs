/**
 * Measures quality and speed of failure grouping on labelled lines: `npm run bench:grouping`. The lines are not part of this
 * repository: `REDRIVE_GROUPING_DATA` names their folder, default ../shared/data/grouping. Two baselines: the hash of the
 * raw text, and the hash of the text with numbers, paths and quotations masked. Where a set has two labellings, the one
 * that fits better counts. `--wrong SET` prints the largest mistakes of one set instead.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { OTHER, perturb, SAME, sampled } from "./grouping-perturb.mjs";
import { measureRules } from "./grouping-rules.mjs";
import { betterLabels, mistakes, pairScore } from "./grouping-score.mjs";
import { TRIAGE } from "./kit.mjs";

const FOLDER =
  process.env.REDRIVE_GROUPING_DATA ?? fileURLToPath(new URL("../../shared/data/grouping", import.meta.url));
const ROUNDS = 5;
/** More than the patterns that the program remembers. */
const REMEMBERED = 2100;
const MISTAKES_MAX = 40;

if (!existsSync(FOLDER)) {
  console.log(`Skipped: there is no labelled data in ${FOLDER}. Set REDRIVE_GROUPING_DATA to its folder.`);
} else {
  const { signatureOf } = await import(TRIAGE);
  const redrive = (text) => signatureOf(failureOf(text)).signature;
  const methods = { redrive, "exact hash": exactHash, "masks + hash": maskAndHash };
  const { wrong } = parseArgs({ options: { wrong: { type: "string" } } }).values;
  if (wrong !== undefined) printMistakes(wrong, signatureOf);
  else {
    for (const [name, sets] of Object.entries(themes())) printTheme(name, sets, methods);
    printMasking(signatureOf);
    printPerturbed(redrive);
    await printRules();
  }
}

/** A single line is an error message, several lines are output. */
function failureOf(text) {
  const errorType = { name: "Unknown" };
  if (!text.trimEnd().includes("\n")) return { errorType, errorMessage: text };
  return { errorType, errorMessage: "", stderrTail: text };
}

function exactHash(text) {
  return createHash("sha256").update(text).digest("hex");
}

/** A simple baseline that masks with a few regular expressions. */
function maskAndHash(text) {
  const masked = text
    .slice(0, 4096)
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?/g, "<time>")
    .replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi, "<uuid>")
    .replace(/"[^"]*"|'[^']*'/g, "<str>")
    .replace(/(?:\/[\w.-]+){2,}/g, "<path>")
    .replace(/0x[\da-f]+|\d+/gi, "<num>");
  return exactHash(masked);
}

function themes() {
  const inFolder = (folder) =>
    existsSync(join(FOLDER, folder))
      ? readdirSync(join(FOLDER, folder)).map((file) => `${folder}/${file}`)
      : [];
  return {
    "Log lines": inFolder("loghub2k"),
    "Error messages": inFolder("errors"),
    "Stack traces": inFolder("traces"),
  };
}

function readSet(file) {
  return readFileSync(join(FOLDER, file), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

function printTheme(name, files, methods) {
  if (files.length === 0) return console.log(`\n${name}: skipped, there is no such data in ${FOLDER}.`);
  const isTraces = name === "Stack traces";
  console.log(`\n${name}\n${row(["", ...Object.keys(methods), "lines/s", "shuffled"])}`);
  const means = Object.fromEntries(Object.keys(methods).map((method) => [method, []]));
  for (const file of files) {
    const rows = readSet(file);
    const scores = Object.entries(methods).map(([method, keyOf]) => {
      const score = scoreOf(
        rows,
        rows.map(({ text }) => keyOf(text)),
        isTraces,
      );
      means[method].push(score);
      return scoreText(score);
    });
    const title = file.replace(".jsonl", "");
    console.log(
      row([title, ...scores, speed(rows, methods.redrive), sameAfterShuffle(rows, methods.redrive)]),
    );
  }
  const mean = (list) =>
    Object.fromEntries(
      Object.keys(list[0]).map((key) => [key, list.reduce((sum, one) => sum + one[key], 0) / list.length]),
    );
  if (files.length > 1)
    console.log(row(["mean", ...Object.values(means).map((list) => scoreText(mean(list)))]));
}

function scoreOf(rows, keys, isTraces) {
  if (!isTraces) return betterLabels(rows, keys).score;
  const labels = rows.map(({ label }) => label);
  return { pairF1: pairScore(labels, keys) };
}

function scoreText(score) {
  return "pairF1" in score
    ? `F1 ${score.pairF1.toFixed(3)}`
    : `${score.ga.toFixed(3)} / ${score.fga.toFixed(3)}`;
}

/** The best of several rounds in CPU time, because the machine may be busy. */
function speed(rows, keyOf) {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    forgetPatterns(keyOf, round);
    const before = process.cpuUsage();
    for (const { text } of rows) keyOf(text);
    const { user, system } = process.cpuUsage(before);
    bestMs = Math.min(bestMs, (user + system) / 1000);
  }
  return Math.round((rows.length / bestMs) * 1000).toLocaleString("en");
}

/** Fills the memory of patterns with others, so that each round meets the lines for the first time. */
function forgetPatterns(keyOf, round) {
  for (let count = 0; count < REMEMBERED; count += 1) {
    const word = (round * REMEMBERED + count + 17_576)
      .toString(26)
      .replace(/\d/g, (digit) => "qrstuvwxyz"[digit]);
    keyOf(`Warning ${word.toUpperCase()} x`);
  }
}

/** Checks that the group of a line does not depend on earlier lines. */
function sameAfterShuffle(rows, keyOf) {
  const forward = new Map(rows.map(({ text }) => [text, keyOf(text)]));
  const shuffled = [...forward.keys()].sort((a, b) => (exactHash(a) < exactHash(b) ? -1 : 1));
  return shuffled.every((text) => keyOf(text) === forward.get(text)) ? "same groups" : "OTHER GROUPS";
}

/** Prints how often another masking tool masks the same parts, whatever it calls them. There is no goal. */
function printMasking(signatureOf) {
  const folder = join(FOLDER, "masking");
  if (!existsSync(folder)) return;
  for (const file of readdirSync(folder)) {
    const rows = readSet(`masking/${file}`);
    const blind = (text) =>
      text
        .trim()
        .replace(/"[^"]*"|'[^']*'/g, "<>")
        .replace(/<[a-z_\d]+>/g, "<>")
        .replace(/(?:<>[ ,/:]*)+/g, "<>");
    const agreed = rows.filter(
      ({ text, label }) =>
        blind(signatureOf(failureOf(text)).pattern.replace(/^Unknown::/, "")) === blind(label),
    );
    console.log(
      `\nMasking, ${file.replace(".jsonl", "")}: ${agreed.length} of ${rows.length} texts are masked in the same places.`,
    );
  }
}

/** Prints the share of changed texts that kept their group, or lost it where they must. */
function printPerturbed(keyOf) {
  const { "Log lines": logs, "Error messages": errors } = themes();
  if (logs.length + errors.length === 0) return;
  const rules = { ...SAME, ...OTHER };
  const titles = Object.keys(rules);
  console.log(`\nPerturbation: the share of right answers\n${narrow(["", ...titles, "same", "other"])}`);
  const sums = [];
  for (const file of [...logs, ...errors]) {
    const results = perturb(sampled(readSet(file).map(({ text }) => text)), keyOf);
    const shares = titles.map((rule) => shareOf([results[rule]]));
    const ways = [SAME, OTHER].map((way) => shareOf(Object.keys(way).map((rule) => results[rule])));
    sums.push([...shares, ...ways]);
    console.log(narrow([file.replace(".jsonl", ""), ...[...shares, ...ways].map(shareText)]));
  }
  const means = sums[0].map((_, at) => {
    const known = sums.map((shares) => shares[at]).filter((share) => share !== undefined);
    return known.length === 0 ? undefined : known.reduce((sum, one) => sum + one, 0) / known.length;
  });
  console.log(narrow(["mean", ...means.map(shareText)]));
}

/** Prints what each rule for words contributes, and the scores with only the rules that help the other sets. */
async function printRules() {
  const { "Log lines": logs, "Error messages": errors } = themes();
  if (logs.length + errors.length < 2) return;
  const files = [...logs, ...errors];
  const { effects, leftOut } = await measureRules(
    Object.fromEntries(files.map((file) => [file, readSet(file)])),
  );
  console.log("\nRules for words: what each adds to (GA + FGA) / 2 of a set, where it is at least 0.002");
  for (const [rule, byFile] of Object.entries(effects)) {
    const parts = Object.entries(byFile)
      .filter(([, effect]) => Math.abs(effect) >= 0.002)
      .map(([file, effect]) => `${titleOf(file)} ${effect > 0 ? "+" : ""}${effect.toFixed(3)}`);
    console.log(`${rule.padEnd(12)} ${parts.join(", ") || "-"}`);
  }
  console.log("\nLeave one set out: only the rules that help the other sets");
  for (const [theme, list] of Object.entries({ logs, errors })) {
    for (const file of list) {
      const { score, harmful } = leftOut[file];
      console.log(
        row([titleOf(file), scoreText(score), harmful.length === 0 ? "" : `  without ${harmful.join(", ")}`]),
      );
    }
    const mean = (key) => list.reduce((sum, file) => sum + leftOut[file].score[key], 0) / list.length;
    console.log(row([`mean of ${theme}`, scoreText({ ga: mean("ga"), fga: mean("fga") })]));
  }
}

function titleOf(file) {
  return file.replace(".jsonl", "");
}

function shareOf(results) {
  const known = results.filter((result) => result !== undefined);
  const all = known.reduce((sum, one) => sum + one.all, 0);
  return all === 0 ? undefined : known.reduce((sum, one) => sum + one.right, 0) / all;
}

function shareText(share) {
  return share === undefined ? "-" : share.toFixed(3);
}

/** Prints the true groups that were split or joined, those with most lines first, and the texts that perturbation moved. */
function printMistakes(file, signatureOf) {
  const rows = readSet(`${file}.jsonl`);
  const keys = rows.map(({ text }) => signatureOf(failureOf(text)).signature);
  const { labels } = betterLabels(rows, keys);
  const patternOf = (at) => signatureOf(failureOf(rows[at].text)).pattern.replace(/^Unknown::/, "");
  for (const { kind, label, members } of mistakes(labels, keys).slice(0, MISTAKES_MAX)) {
    console.log(`\n${kind} ${label}`);
    for (const { at, count } of members)
      console.log(`${String(count).padStart(6)}  ${patternOf(at).slice(0, 200)}`);
  }
  const results = perturb(
    sampled(rows.map(({ text }) => text)),
    (text) => signatureOf(failureOf(text)).signature,
  );
  for (const [rule, { wrong }] of Object.entries(results)) {
    for (const pair of wrong.slice(0, 4))
      console.log(`\n${rule}\n  ${pair.map((text) => text.slice(0, 200)).join("\n  ")}`);
  }
}

function narrow(cells) {
  return cells
    .map((cell, at) => (at === 0 ? cell.padEnd(20) : cell.padStart(Math.max(8, cell.length + 2))))
    .join("");
}

function row(cells) {
  return cells.map((cell, at) => (at === 0 ? cell.padEnd(24) : cell.padStart(16))).join("");
}
