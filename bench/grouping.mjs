/**
 * Measures quality and speed of failure grouping on labelled lines: `npm run bench:grouping`. The lines are not part of this
 * repository: `REDRIVE_GROUPING_DATA` names their folder, default ../shared/data/grouping. Two baselines: the hash of the
 * raw text, and the hash of the text with numbers, paths and quotations masked.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { exactGroups, pairScore } from "./grouping-score.mjs";
import { TRIAGE } from "./kit.mjs";

const FOLDER =
  process.env.REDRIVE_GROUPING_DATA ?? fileURLToPath(new URL("../../shared/data/grouping", import.meta.url));
const ROUNDS = 5;

if (!existsSync(FOLDER)) {
  console.log(`Skipped: there is no labelled data in ${FOLDER}. Set REDRIVE_GROUPING_DATA to its folder.`);
} else {
  const { signatureOf } = await import(TRIAGE);
  const redrive = (text) => signatureOf(failureOf(text)).signature;
  const methods = { redrive, "exact hash": exactHash, "masks + hash": maskAndHash };
  for (const [name, sets] of Object.entries(themes())) printTheme(name, sets, methods);
  printMasking(signatureOf);
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
  const labels = rows.map(({ label }) => label);
  return isTraces ? { pairF1: pairScore(labels, keys) } : exactGroups(labels, keys);
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
    const before = process.cpuUsage();
    for (const { text } of rows) keyOf(text);
    const { user, system } = process.cpuUsage(before);
    bestMs = Math.min(bestMs, (user + system) / 1000);
  }
  return Math.round((rows.length / bestMs) * 1000).toLocaleString("en");
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

function row(cells) {
  return cells.map((cell, at) => (at === 0 ? cell.padEnd(24) : cell.padStart(16))).join("");
}
