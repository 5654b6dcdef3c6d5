/**
 * Formats results as tables. A row has what was measured, the result, the peer's result, the ratio, the goal and whether it
 * is met. A row without a goal is informative.
 */
import { readFileSync } from "node:fs";
import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";

const HEAD = ["measured", "figure", "beside", "ratio", "goal", "met"];

/** The tables as text for a terminal. */
export function terminalText(tables) {
  return tables.map((table) => `\n${table.title}\n${columns(table)}${notes(table, "  ")}`).join("\n");
}

/** The complete text of RESULTS.md. */
export function resultsText(tables, { startedAt, loadBefore, options }) {
  const parts = tables.map((table) => `## ${table.title}\n\n${markdownTable(table)}${notes(table, "")}`);
  return `# Results\n\n${machineText(startedAt, loadBefore)}\n\n${RULES}\n${missingText(options)}\n${parts.join("\n\n")}\n`;
}

const RULES = `Written by \`npm run bench\`. A figure is the median of interleaved repetitions (three or more unless a row says
otherwise); a goal is a ratio to a peer that ran in the same minutes on the same machine, or a bound. Nothing here is a
test: a goal that is not met is a line to read, and the exit code is 0.`;

function missingText({ only, quick }) {
  const partial = only.length > 0 ? `\nOnly these themes were run: ${only.join(", ")}.` : "";
  const small = quick
    ? "\nA quick run: smaller sizes, so that figures at 1,000,000 are not those of the goals."
    : "";
  return `${partial}${small}`;
}

function machineText(startedAt, loadBefore) {
  const memoryGb = (totalmem() / 1024 ** 3).toFixed(0);
  const load = [loadBefore, loadavg()].map((three) => three.map((one) => one.toFixed(2)).join(" "));
  return [
    `- Machine: ${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown"}, ${memoryGb} GiB, ${platform()} ${arch()}, kernel ${release().split(".").slice(0, 2).join(".")}`,
    `- Node ${process.version}, Redrive ${version()}`,
    `- Run from ${startedAt.toISOString()} to ${new Date().toISOString()}; load before it ${load[0]}, after it ${load[1]}`,
  ].join("\n");
}

function version() {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
}

function cells(row) {
  return [
    row.what,
    row.figure,
    row.beside ?? "",
    row.ratio === undefined ? "" : `${row.ratio.toFixed(2)} ×`,
    row.goal ?? "",
    row.met === undefined ? "" : row.met ? "yes" : "NO",
  ];
}

function markdownTable({ rows }) {
  const line = (texts) => `| ${texts.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(HEAD), "|---|---:|---:|---:|---|---|", ...rows.map((row) => line(cells(row)))].join("\n");
}

function columns({ rows }) {
  const lines = [HEAD, ...rows.map(cells)];
  const widths = HEAD.map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  return lines
    .map((line) => `  ${line.map((text, column) => text.padEnd(widths[column])).join("  ")}`.trimEnd())
    .join("\n");
}

function notes(table, indent) {
  return (table.notes ?? []).map((note) => `\n\n${indent}${note}`).join("");
}

/** Formats a number like 12,345. */
export function count(value, digits = 0) {
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Formats milliseconds with a suitable number of digits. */
export function ms(value) {
  return `${count(value, value < 10 ? 2 : value < 100 ? 1 : 0)} ms`;
}

/** A rate per second. */
export function perSecond(value, what = "") {
  return `${count(value)}${what && ` ${what}`}/s`;
}

/** A goal with a lower bound. */
export function atLeast(value, bound, unit = "×") {
  return { goal: `≥ ${bound} ${unit}`.trim(), met: value >= bound };
}

/** A goal with an upper bound. */
export function atMost(value, bound, unit = "×") {
  return {
    goal: `≤ ${count(bound, bound < 10 && bound % 1 !== 0 ? 1 : 0)} ${unit}`.trim(),
    met: value <= bound,
  };
}
