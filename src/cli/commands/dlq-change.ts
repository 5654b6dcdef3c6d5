/** `redrive dlq discard|restore|clear|purge|maintain`: discards, restores and deletes letters. */
import type { Engine } from "../../engine.ts";
import { requireJob } from "../../queue/find-job.ts";
import { discardLetters, restoreLetters } from "../../redrive/discard.ts";
import { archiveOf, purgeLetters, purgeToJson } from "../../redrive/purge.ts";
import { jobLimitsOf, NOTHING_TIDIED, type Tidied, tidyJobs } from "../../service/job-retention.ts";
import {
  type Maintained,
  maintainedToJson,
  maintain as maintainLetters,
} from "../../service/maintain-letters.ts";
import { compact } from "../../std/json.ts";
import { evidenceFolder } from "../../store/home.ts";
import { type Swept, sweepEvidence } from "../../store/sweep-evidence.ts";
import { type BulkWords, decide } from "../bulk.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { userError } from "../exit-code.ts";
import { refreshDirectories } from "../maintenance.ts";
import { count, dryRun, flag, orNone, reason, required, yes } from "../options.ts";
import { undoHint } from "../render/operation.ts";
import { clean, counted, lettersText, thousands } from "../render/text.ts";
import { checkSelection, isNarrowed, selectionOptions } from "../selection.ts";

const items = argument("[items...]", "item ids or unique prefixes (default: all selected letters)");
const job = argument("[job]", "id or name (default: the only job with letters)");

const discard = command({
  summary: "Discard letters, with a reason.",
  description: "Discarded letters are not retried. To restore them: redrive dlq restore",
  examples: [
    "redrive dlq discard order-7 --reason 'test order'",
    "redrive dlq discard --job nightly --older-than 30d --reason old --dry-run",
  ],
  arguments: { items },
  options: { ...selectionOptions, dryRun, yes, reason: required(reason) },
  run: (context, { reason: why, ...given }) =>
    decide(context, given, {
      kind: "discard",
      verb: "Discard",
      run: (engine, scope) => discardLetters(engine, { ...scope, reason: why }),
    }),
});

const restore = command({
  summary: "Restore discarded letters.",
  examples: ["redrive dlq restore order-7", "redrive dlq restore --job nightly --yes"],
  arguments: { items },
  options: { ...selectionOptions, dryRun, yes },
  run: (context, given) => decide(context, given, { kind: "restore", verb: "Restore", run: restoreLetters }),
});

const noArchive = flag("--no-archive", "do not archive the letters");

const clear = command({
  summary: "Delete letters that are resolved or discarded, after archiving them.",
  description: "Letters that are still dead are never deleted.",
  examples: ["redrive dlq clear nightly --dry-run", "redrive dlq clear nightly --yes"],
  arguments: { name: job },
  options: { ...selectionOptions, dryRun, yes, noArchive },
  run: (context, given) => deleteLetters(context, "clear", given),
});

const purge = command({
  summary: "Delete selected letters, after archiving them.",
  examples: [
    "redrive dlq purge nightly --older-than 30d --dry-run",
    "redrive dlq purge nightly --type Timeout --yes",
  ],
  arguments: { name: job },
  options: { ...selectionOptions, dryRun, yes, noArchive },
  run: async (context, given) => {
    checkSelection(given);
    if (isNarrowed(given)) return deleteLetters(context, "purge", given);
    const hint = "Select letters, e.g. --older-than 30d or --type Timeout; --older-than 0s selects all.";
    throw userError("usage", "No letters were selected for the purge.", hint);
  },
});

function deleteLetters(
  context: Context,
  kind: "clear" | "purge",
  { noArchive: isUnarchived, ...words }: BulkWords & { noArchive: boolean },
): Promise<number> {
  const { home } = context;
  return decide(context, words, {
    kind,
    verb: "Delete",
    mustAsk: true,
    toJson: purgeToJson,
    run: (engine, scope) => purgeLetters(engine, { kind, ...scope, home, archive: !isUnarchived }),
    more: (operation) => {
      const archive = archiveOf(operation);
      return archive === null ? "No copy was kept.\n" : `Archived in ${archive.path}\n${undoHint(operation)}`;
    },
  });
}

const maintain = command({
  summary:
    "Apply the retention limits now: archive letters that are too old, or that exceed the limit of a job.",
  description:
    "The options default to the settings in redrive.yml. Without a job, this also deletes expired jobs and logs, and evidence copies that no letter uses.",
  examples: ["redrive dlq maintain --dry-run", "redrive dlq maintain nightly --max-items 1000"],
  arguments: { name: argument("[job]", "id or name (default: all jobs)") },
  options: {
    maxItems: orNone(count("--max-items <n>", "how many letters a job keeps, or none (default: 10000)", 1)),
    retentionDays: orNone(
      count("--retention-days <n>", "how long a letter is kept, or none; 0 archives all (default: 30)", 0),
    ),
    dryRun,
  },
  run: async (context, { name, dryRun: isPreview, maxItems, retentionDays }) => {
    const { dlq, jobs } = await context.config();
    const { home, author } = context;
    const limits = {
      maxItems: maxItems === undefined ? dlq.maxItems : maxItems,
      retentionDays: retentionDays === undefined ? dlq.retentionDays : retentionDays,
    };
    const onNotice = (notice: string) => context.note(notice);
    const how = { home, author, isPreview, onNotice, ...compact({ dlqDir: dlq.dlqDir }) };
    const { maintained, swept, tidied } = await context.withStore(async (engine) => {
      const only = name === undefined ? undefined : await requireJob(engine, name);
      const all = await maintainLetters(engine, { ...limits, ...how, ...compact({ job: only }) });
      const count = all.reduce((sum, { evicted, purged }) => sum + evicted + purged, 0);
      const jobIds = all.map(({ jobId }) => jobId);
      if (!isPreview) await refreshDirectories(context, engine, { jobIds, count, limits });
      if (only) return { maintained: all, swept: NOTHING_SWEPT, tidied: NOTHING_TIDIED };
      const old = await tidyJobs(engine, { ...how, limits: jobLimitsOf(jobs) });
      return { maintained: all, tidied: old, swept: await sweep(context, engine, isPreview) };
    });
    const document = {
      ...maintainedToJson(maintained),
      ...(swept.copies > 0 && { evidence_deleted: swept.copies, evidence_bytes: swept.bytes }),
      ...(tidied.jobs.length > 0 && { jobs_deleted: tidied.jobs }),
      ...(tidied.logs > 0 && { logs_deleted: tidied.logs, log_bytes: tidied.logBytes }),
      ...(isPreview && { dry_run: true }),
    };
    const text = () => maintainedText(maintained, isPreview) + deletedText(swept, tidied, isPreview);
    return context.answer(document, text);
  },
});

/** Nothing is deleted for a single job, because other jobs may reference the same content. */
const NOTHING_SWEPT: Swept = { copies: 0, bytes: 0 };

/** Reports an unreadable folder without failing, because the letters have already been changed. */
async function sweep(context: Context, engine: Engine, isPreview: boolean): Promise<Swept> {
  try {
    return await sweepEvidence(engine, { folder: evidenceFolder(context.home, engine.url), isPreview });
  } catch (error) {
    if (!(error instanceof Error) || Reflect.get(error, "syscall") === undefined) throw error;
    context.note(`Not all evidence copies could be checked: ${clean(error.message)}.`);
    return NOTHING_SWEPT;
  }
}

function deletedText({ copies, bytes }: Swept, { jobs, logs, logBytes }: Tidied, isPreview: boolean): string {
  const verb = isPreview ? "Would delete" : "Deleted";
  const evidence = counted(copies, "evidence copy", "evidence copies");
  return [
    copies > 0 && `${verb} ${evidence} that no letter uses, ${thousands(bytes)} bytes.\n`,
    jobs.length > 0 && `${verb} ${counted(jobs.length, "job")}: ${jobs.join(", ")}.\n`,
    logs > 0 && `${verb} ${counted(logs, "log")}, ${thousands(logBytes)} bytes.\n`,
  ]
    .filter(Boolean)
    .join("");
}

function maintainedText(all: readonly Maintained[], isPreview: boolean): string {
  const busy = all.filter(({ evicted, purged }) => evicted + purged > 0);
  if (busy.length === 0) return "All letters are within the limits.\n";
  return busy.map((one) => archivedText(one, isPreview)).join("");
}

function archivedText({ jobId, evicted, purged, waiting, archives }: Maintained, isPreview: boolean): string {
  const parts = [
    purged > 0 && `${lettersText(purged)} too old`,
    evicted > 0 && `${lettersText(evicted)} over the limit`,
  ].filter(Boolean);
  const verb = isPreview ? "would archive" : "archived";
  const left = isPreview ? "" : `; ${lettersText(waiting)} left`;
  return `${jobId}: ${verb} ${parts.join(" and ")}${left}.\n${archives.map((file) => `  ${file}\n`).join("")}`;
}

export const commands = { discard, restore, clear, purge, maintain };
