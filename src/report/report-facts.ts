/** The sentences and numbers that reports of all formats contain. */
import { usdText } from "../agent/budget.ts";
import type { AgentUsage } from "../item/agent-usage.ts";
import { formatDuration } from "../std/duration.ts";
import type { JobReport, ReportChanges } from "./read-report.ts";

export const REPORT_FORMATS = ["md", "html", "json"] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** More rows would exceed the maximum length of a pull request description. */
export const ROWS_MAX = 200;

export function titleOf({ summary: { name, succeeded, total } }: JobReport): string {
  return `${name}: ${succeeded} of ${total} items done`;
}

/** The status, the duration and the usage of the agents, each as a text. */
export function factsOf({ summary }: JobReport): readonly string[] {
  const { status, durationMs, usage } = summary;
  return [status, formatDuration(durationMs), ...usageFacts(usage)];
}

export function usageFacts(usage: AgentUsage | undefined): readonly string[] {
  if (usage === undefined) return [];
  const { costUsd, inputTokens, outputTokens, turns } = usage;
  const tokens = (inputTokens ?? 0) + (outputTokens ?? 0);
  return [
    ...(costUsd === undefined ? [] : [usdText(costUsd)]),
    ...(tokens === 0 ? [] : [`${tokens.toLocaleString("en")} tokens`]),
    ...(turns === undefined ? [] : [`${turns} turn${turns === 1 ? "" : "s"}`]),
  ];
}

/** The counts that are not 0, and how many items are done. */
export function countsOf({ summary }: JobReport): readonly (readonly [string, number])[] {
  const { succeeded, dead, skipped, discarded, remaining } = summary;
  const others = [
    ["failed", dead],
    ["skipped", skipped],
    ["discarded", discarded],
    ["not finished", remaining],
  ] as const;
  return [["done", succeeded], ...others.filter(([, count]) => count > 0)];
}

export function changesText({ files, insertions, deletions }: ReportChanges): string {
  return `${files} file${files === 1 ? "" : "s"}, +${insertions} −${deletions}`;
}

/** The commands to inspect and to retry the failures. */
export function nextCommands({ summary: { jobId } }: JobReport): readonly string[] {
  return [`redrive dlq list --job ${jobId}`, `redrive dlq retry ${jobId}`];
}

/** The rows of the item table, without columns that are empty for all items. */
export function itemRows({ items }: JobReport) {
  const rows = items.slice(0, ROWS_MAX).map(({ name, commit, branch, changes, usage }) => ({
    item: name,
    changes: changes ? changesText(changes) : "",
    cost: usageFacts(usage)[0] ?? "",
    branch: branch ?? "",
    commit: commit?.slice(0, 10) ?? "",
  }));
  const keys = ["item", "changes", "cost", "branch", "commit"] as const;
  return { rows, columns: keys.filter((key) => rows.some((row) => row[key] !== "")) };
}
