/** Reads the data of a job report: the completed items with their changes, and the failures by cause. */
import type { Engine } from "../engine.ts";
import { usageToJson } from "../item/agent-run.ts";
import type { AgentUsage } from "../item/agent-usage.ts";
import { itemName } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { ItemResult } from "../item/store-queries.ts";
import { type JobSummary, summarise, summaryToJson } from "../queue/job-summary.ts";
import { toRfc3339 } from "../std/clock.ts";
import { compact, isJsonObject, type Json, type JsonObject, reader } from "../std/json.ts";
import { groupTitle, locationText } from "../triage/title.ts";

/** The size of the changes of one item or of all items. */
export interface ReportChanges {
  readonly files: number;
  readonly insertions: number;
  readonly deletions: number;
}

export interface ReportItem {
  readonly itemId: string;
  readonly name: string;
  readonly commit?: string;
  readonly branch?: string;
  readonly changes?: ReportChanges;
  readonly usage?: AgentUsage;
}

/** A cause of failures with sample items. */
export interface ReportFailure {
  readonly signature: string;
  readonly title: string;
  /** The command or step and how it ended; empty if unknown. */
  readonly location: string;
  readonly count: number;
  readonly items: readonly { readonly itemId: string; readonly name: string; readonly message: string }[];
}

export interface JobReport {
  readonly job: Job;
  readonly summary: JobSummary;
  /** The sum of the changes of all items. Absent if no item has changed the repository. */
  readonly changes?: ReportChanges;
  /** The first completed items. */
  readonly items: readonly ReportItem[];
  readonly failures: readonly ReportFailure[];
}

const ITEMS_MAX = 1000;
const PAGE_MAX = 500;
const FAILURES_MAX = 50;
const FAILED_ITEMS_MAX = 10;

export async function readReport(engine: Engine, job: Job): Promise<JobReport> {
  const summary = await summarise(engine, job);
  const items: ReportItem[] = [];
  let changes: ReportChanges | undefined;
  for (let after = 0; ; ) {
    const page = await engine.listResults(job.id, { after, limit: PAGE_MAX });
    for (const { result } of page) changes = addChanges(changes, changesOf(result));
    if (items.length < ITEMS_MAX)
      items.push(...(await itemsOf(engine, job, page.slice(0, ITEMS_MAX - items.length))));
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.ref;
  }
  const failures: ReportFailure[] = [];
  for (const group of summary.groups.slice(0, FAILURES_MAX)) {
    const { title, location } = groupTitle(group.pattern);
    const { signature, count } = group;
    const examples = await examplesOf(engine, job, signature);
    failures.push({ signature, title, location: locationText(location), count, items: examples });
  }
  return { job, summary, ...(changes && { changes }), items, failures };
}

async function itemsOf(engine: Engine, job: Job, page: readonly ItemResult[]): Promise<ReportItem[]> {
  if (page.length === 0) return [];
  const [items, sums] = await Promise.all([
    engine.listItems({ queue: job.id, itemIds: page.map(({ itemId }) => itemId), limit: PAGE_MAX }),
    engine.sumAgentUsage({ by: "item", queue: job.id, refs: page.map(({ ref }) => ref) }),
  ]);
  const names = new Map(items.map((item) => [item.itemId, itemName(item)]));
  const usages = new Map(sums.map(({ key, usage }) => [key, usage]));
  return page.map(({ ref, itemId, result }) => {
    const read = reader(isJsonObject(result) ? result : {});
    return compact({
      itemId,
      name: names.get(itemId) ?? itemId,
      commit: read.text("commit"),
      branch: read.text("branch"),
      changes: changesOf(result),
      usage: usages.get(String(ref)),
    });
  });
}

async function examplesOf(engine: Engine, { id: queue }: Job, signature: string) {
  const { letters } = await engine.listLetters({
    ...{ queue, signatures: [signature], states: ["dead"], order: "oldest", limit: FAILED_ITEMS_MAX },
    ...{ parts: ["data", "last_failure"], counted: false },
  });
  return letters.map(({ itemId, itemData: data, failureHistory }) => ({
    itemId,
    name: itemName({ itemId, data }),
    message: failureHistory.at(-1)?.errorMessage ?? "",
  }));
}

function changesOf(result: Json): ReportChanges | undefined {
  const changes = isJsonObject(result) ? result.changes : undefined;
  if (!isJsonObject(changes)) return undefined; // a step may have captured something else under this name
  const [files, insertions, deletions] = [changes.files, changes.insertions, changes.deletions];
  if (typeof files !== "number" || typeof insertions !== "number" || typeof deletions !== "number")
    return undefined;
  return { files, insertions, deletions };
}

function addChanges(sum: ReportChanges | undefined, more: ReportChanges | undefined) {
  if (sum === undefined || more === undefined) return sum ?? more;
  return {
    files: sum.files + more.files,
    insertions: sum.insertions + more.insertions,
    deletions: sum.deletions + more.deletions,
  };
}

export function reportToJson({ job, summary, changes, items, failures }: JobReport): JsonObject {
  return {
    ...summaryToJson(summary),
    started_at: toRfc3339(job.startedAt),
    ...(changes && { changes: { ...changes } }),
    items: items.map(({ itemId, name, commit, branch, changes: own, usage }) =>
      compact({
        item_id: itemId,
        name,
        commit,
        branch,
        changes: own && { ...own },
        usage: usage && usageToJson(usage),
      }),
    ),
    items_left: summary.succeeded - items.length,
    failures: failures.map(({ items: examples, ...failure }) => ({
      ...failure,
      items: examples.map(({ itemId, name, message }) => ({ item_id: itemId, name, message })),
    })),
  };
}
