/**
 * Formats a report as Markdown for a pull request description, or as an HTML page. Item texts are always
 * escaped.
 */
import { createHash } from "node:crypto";
import { oneLine } from "../triage/clean.ts";
import type { JobReport, ReportFailure } from "./read-report.ts";
import { changesText, countsOf, factsOf, itemRows, nextCommands, titleOf } from "./report-facts.ts";

const TEXT_CHARS_MAX = 120;
/** Lists of at least this many items are collapsed. */
const FOLDED_FROM = 20;

export function reportMarkdown(report: JobReport): string {
  const { summary, changes, failures } = report;
  const facts = [`Job ${code(summary.jobId)}`, ...factsOf(report)].join(" · ");
  const counts = countsOf(report)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");
  const lines = [
    `## ${plain(titleOf(report))}`,
    "",
    facts,
    "",
    `**Items:** ${counts}.${changes ? ` **Changes:** ${changesText(changes)}.` : ""}`,
    ...itemTable(report),
    ...(failures.length === 0 ? [] : ["", "### Failed", "", ...failures.flatMap(failureLines)]),
    ...nextLines(report),
  ];
  return `${lines.join("\n")}\n`;
}

function itemTable(report: JobReport): readonly string[] {
  const { rows, columns } = itemRows(report);
  if (rows.length === 0) return [];
  const left = report.summary.succeeded - rows.length;
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const isFolded = rows.length >= FOLDED_FROM;
  return [
    "",
    ...(isFolded ? ["<details>", `<summary>${report.summary.succeeded} items done</summary>`] : ["### Done"]),
    "",
    line(columns),
    line(columns.map(() => "---")),
    ...rows.map((row) => line(columns.map((key) => (CODE.has(key) ? cell(row[key]) : row[key])))),
    ...(left > 0 ? ["", `… and ${left} more.`] : []),
    ...(isFolded ? ["", "</details>"] : []),
  ];
}

const CODE: ReadonlySet<string> = new Set(["item", "branch", "commit"]);

function failureLines({ title, location, count, items }: ReportFailure): readonly string[] {
  const where = location === "" ? "" : ` (${code(location)})`;
  const shown = items.map(({ name, message }) => {
    const own = oneLine(message, TEXT_CHARS_MAX);
    return `  - ${code(name)}${own === "" || own === title ? "" : `: ${code(own)}`}`;
  });
  const left = count - items.length;
  const items_ = count === 1 ? "1 item" : `${count} items`;
  return [
    `- **${items_}:** ${code(title)}${where}`,
    ...shown,
    ...(left > 0 ? [`  - … and ${left} more`] : []),
  ];
}

function nextLines(report: JobReport): readonly string[] {
  if (report.summary.dead === 0) return [];
  return ["", "To see why and to try them again:", "", "```", ...nextCommands(report), "```"];
}

/** A code span, in which nothing is parsed as markup, a mention or a reference. */
function code(text: string): string {
  const line = oneLine(text, TEXT_CHARS_MAX);
  if (line === "") return "";
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return longest === 0 ? `${fence}${line}${fence}` : `${fence} ${line} ${fence}`;
}

/** In a table, a vertical bar ends the cell even inside code. */
function cell(text: string): string {
  return code(text).replaceAll("|", "\\|");
}

/** Escapes everything that could be parsed as markup. */
function plain(text: string): string {
  return oneLine(text, TEXT_CHARS_MAX).replaceAll(/[\\`*_{}[\]<>()#+!|~@&]/g, (sign) => `\\${sign}`);
}

export function reportHtml(report: JobReport): string {
  const { summary, changes, failures } = report;
  const { rows, columns } = itemRows(report);
  const left = summary.succeeded - rows.length;
  const counts = countsOf(report).map(([name, count]) => `${count} ${name}`);
  const body = [
    `<h1>${html(titleOf(report))}</h1>`,
    `<p>Job <code>${html(summary.jobId)}</code> · ${factsOf(report).map(html).join(" · ")}</p>`,
    `<p>${html(counts.join(", "))}${changes ? ` · ${html(changesText(changes))}` : ""}</p>`,
    ...(failures.length === 0 ? [] : ["<h2>Failed</h2>", ...failures.map(failureHtml)]),
    ...(rows.length === 0
      ? []
      : [
          "<h2>Done</h2>",
          "<table>",
          `<tr>${columns.map((key) => `<th>${key}</th>`).join("")}</tr>`,
          ...rows.map((row) => `<tr>${columns.map((key) => `<td>${html(row[key])}</td>`).join("")}</tr>`),
          "</table>",
          ...(left > 0 ? [`<p>… and ${left} more.</p>`] : []),
        ]),
  ];
  const head = `<meta charset="utf-8"><title>${html(titleOf(report))}</title><style>${STYLE}</style>`;
  return `<!doctype html>\n<html lang="en">\n<head>${head}</head>\n<body>\n${body.join("\n")}\n</body>\n</html>\n`;
}

const STYLE =
  "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c}code,td:first-child{font-family:ui-monospace,monospace}table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2rem .6rem;text-align:left;overflow-wrap:anywhere}";

/** The Content-Security-Policy for serving the page. It allows only the page's own style. */
export function htmlPolicy(): string {
  const digest = createHash("sha256").update(STYLE).digest("base64");
  return `default-src 'none'; style-src 'sha256-${digest}'; frame-ancestors 'none'`;
}

function failureHtml({ title, location, count, items }: ReportFailure): string {
  const examples = items.map(({ name, message }) => {
    const own = oneLine(message, TEXT_CHARS_MAX);
    return `<li><code>${html(name)}</code> ${own === title ? "" : html(own)}</li>`;
  });
  const left = count - items.length;
  const more = left > 0 ? `<li>… and ${left} more</li>` : "";
  const where = location === "" ? "" : ` (${html(location)})`;
  const head = `<p><b>${count === 1 ? "1 item" : `${count} items`}:</b> ${html(title)}${where}</p>`;
  return `${head}\n<ul>${examples.join("")}${more}</ul>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function html(text: string): string {
  return oneLine(text, 500).replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}
