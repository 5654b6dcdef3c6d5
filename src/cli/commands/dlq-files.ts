/** `redrive dlq export|import|mirror|capsule|evidence`: exports letters to files and imports them. */
import { resolve } from "node:path";
import { readCapsule, unpackCapsule, writeCapsule } from "../../dead-letter/capsule.ts";
import { type CopiedEvidence, copyEvidence, type NamedEvidence } from "../../dead-letter/evidence-copy.ts";
import { exportLetters } from "../../dead-letter/import-export/export.ts";
import { type Imported, importLetters } from "../../dead-letter/import-export/import.ts";
import { EXPORT_FORMATS, IMPORT_FORMATS } from "../../dead-letter/import-export/reading.ts";
import { RedriveError } from "../../errors.ts";
import { evidenceFileToJson } from "../../item/failure.ts";
import { isFromElsewhere } from "../../item/imported-letter.ts";
import { type Attempt, fileNameOf } from "../../item/item.ts";
import { type Letter, letterFromJson } from "../../item/letter.ts";
import { requireLetter } from "../../queue/find-item.ts";
import { requireJob } from "../../queue/find-job.ts";
import { selectLetters } from "../../redrive/select.ts";
import { mirrorAll, mirrorJob } from "../../service/letter-directory.ts";
import { systemClock } from "../../std/clock.ts";
import { compact, type JsonObject } from "../../std/json.ts";
import { interruptible } from "../bulk.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { conflict, EXIT, userError } from "../exit-code.ts";
import { directoryOf, refreshDirectories } from "../maintenance.ts";
import { absolute, choice, count, dryRun, list, ofJob, path, word } from "../options.ts";
import { capsuleText } from "../render/capsule.ts";
import { evidenceText, letterText } from "../render/letter.ts";
import { clean, counted, lettersText, thousands } from "../render/text.ts";
import { jobIfAny, selectedIn, selectionOptions } from "../selection.ts";

const exportLettersTo = command({
  summary: "Export letters to a file or folder.",
  description: "Files that end in .gz or .zst are compressed.",
  examples: [
    "redrive dlq export letters.jsonl.gz --job nightly",
    "redrive dlq export - --format csv --type Timeout",
  ],
  arguments: { path: argument("<path>", "a file, a folder for the directory format, or - for stdout") },
  options: {
    ...selectionOptions,
    format: choice(
      "-f, --format <format>",
      "the format (default: from the file extension, else json)",
      EXPORT_FORMATS,
    ),
  },
  run: async (context, { path: to, format, ...flags }) => {
    const { cwd, stdout } = context.terminal;
    const isStream = to === "-";
    if (isStream && context.isJson && !["json", "receipts"].includes(format ?? "json")) {
      throw conflict("--json", `--format ${format}`, "Omit --json, or give a file instead of stdout.");
    }
    const where = isStream ? to : absolute(cwd, to) + (to.endsWith("/") ? "/" : "");
    const { result: exported } = await interruptible(context, async (engine, signal) => {
      const { selection } = await selectedIn(engine, undefined, flags);
      const letters = selectLetters(engine, selection, { order: "oldest", signal }); // an import keeps this order
      return exportLetters(letters, { path: where, stdout, ...(format !== undefined && { format }) }).catch(
        (error) => {
          throw signal.aborted
            ? new RedriveError("interrupted", "Interrupted. The export is not complete.")
            : error;
        },
      );
    });
    const what = `Exported ${lettersText(exported.letters)}`;
    if (!isStream)
      return context.answer({ ...exported, path: to }, () => `${what} to ${to} as ${exported.format}.\n`);
    context.note(`${what} as ${exported.format}.`);
    return EXIT.done;
  },
});

const importLettersFrom = command({
  summary: "Import letters from an export, a Prodigy or mmm folder, or a receipts.json.",
  examples: [
    "redrive dlq import letters.jsonl.gz --dry-run",
    "redrive dlq import .mmm/mapreduce/dlq --job nightly",
  ],
  arguments: { path: argument("<path>", "the file or folder; - is stdin") },
  options: {
    job: ofJob("import them into this job (default: the job that each letter names)"),
    format: choice(
      "-f, --format <format>",
      "the format (default: detected from the content)",
      IMPORT_FORMATS,
    ),
    dryRun,
  },
  run: async (context, { path: from, job, format, dryRun: isDry }) => {
    const { cwd, stdin } = context.terminal;
    const where = from === "-" ? from : absolute(cwd, from);
    const { result: imported, interrupted } = await interruptible(
      context,
      async (engine, signal) => {
        const report = await importLetters(engine, where, {
          isDry,
          signal,
          stdin,
          onProgress: progressOf(context),
          // A missing job is created with this name.
          ...(job !== undefined && { job: (await jobIfAny(engine, job))?.id ?? job }),
          ...compact({ format }),
        });
        const jobIds = report.jobs.map(({ jobId }) => jobId);
        if (!isDry)
          await refreshDirectories(context, engine, { jobIds, count: report.imported + report.extended });
        return report;
      },
      { creates: !isDry },
    );
    context.answer(importToJson(imported, isDry), () => importText(imported, isDry));
    if (interrupted !== null) {
      context.note("Interrupted. Run the same command again to import the rest.");
      return interrupted;
    }
    if (imported.refusedCount === 0) return EXIT.done;
    const read = imported.imported + imported.extended + imported.existing;
    return read === 0 ? EXIT.usage : EXIT.lettersLeft;
  },
});

const PROGRESS_EVERY_MS = 2000;

function progressOf(context: Context): (letters: number) => void {
  let due = systemClock.now() + PROGRESS_EVERY_MS;
  return (letters) => {
    if (!context.terminal.stderr.isTTY || systemClock.now() < due) return;
    due = systemClock.now() + PROGRESS_EVERY_MS;
    context.note(`${thousands(letters)} letters read …`);
  };
}

function importToJson(imported: Imported, isDry: boolean): object {
  const { jobs, refused, refusedCount, ignoredFields, foreignSignatures, ...counts } = imported;
  return {
    ...counts,
    refused,
    refused_count: refusedCount,
    jobs: jobs.map(({ jobId, isNew, ...own }) => ({ job_id: jobId, created: isNew, ...own })),
    ignored_fields: ignoredFields,
    foreign_signatures: foreignSignatures,
    dry_run: isDry,
  };
}

const LINES_MAX = 10;

function importText(imported: Imported, isDry: boolean): string {
  const counts = `${imported.imported} imported, ${imported.extended} extended, ${imported.existing} existing`;
  const { refused, refusedCount, ignoredFields, foreignSignatures } = imported;
  const kept = counted(foreignSignatures, "signature");
  const lines = [
    `${isDry ? "Would be: " : ""}${counts}, ${refusedCount} refused.`,
    ...imported.jobs
      .slice(0, LINES_MAX)
      .map(({ jobId, isNew, imported: own }) => `  ${jobId}${isNew ? " (new)" : ""}: ${own} imported`),
    ...refused.slice(0, LINES_MAX).map(({ where, why }) => `  refused ${where}: ${why}`),
    refusedCount > LINES_MAX && `  … and ${refusedCount - LINES_MAX} more`,
    ignoredFields.length > 0 && `  ignored unknown fields: ${ignoredFields.join(", ")}`,
    foreignSignatures > 0 &&
      `  ${kept} of another program kept as source_signature; letters are grouped by their failures`,
  ];
  return `${lines.filter(Boolean).join("\n")}\n`;
}

const mirror = command({
  summary: "Rewrite the letter directory: items, index, patterns, metrics.",
  examples: ["redrive dlq mirror", "redrive dlq mirror nightly --dlq-dir .mmm/mapreduce/dlq"],
  arguments: { name: argument("[job]", "id or name (default: all jobs)") },
  options: {
    folder: path("--dlq-dir <folder>", "the folder, e.g. .mmm/mapreduce/dlq (default: $REDRIVE_HOME/dlq)"),
  },
  run: async (context, { name, folder }) => {
    const { dlq } = await context.config();
    const dlqDir = folder === undefined ? dlq.dlqDir : resolve(context.terminal.cwd, folder);
    const directory = { home: context.home, ...directoryOf(dlq), ...compact({ dlqDir }) };
    const written = await context.withStore(async (engine) => {
      if (name === undefined) return mirrorAll(engine, directory);
      return [await mirrorJob(engine, await requireJob(engine, name), directory)];
    });
    const jobs = written.map(({ jobId, folder: own, items }) => ({ job_id: jobId, folder: own, items }));
    if (jobs.every(({ items }) => items === 0)) context.note("No letters.");
    return context.answer({ jobs }, () =>
      jobs.map(({ folder: own, items }) => `${own}  ${lettersText(items)}\n`).join(""),
    );
  },
});

const capsule = command({
  summary: "Pack everything about a failure into one file, or open such a file.",
  description: "A capsule can be read on another machine, without the store.",
  examples: [
    "redrive dlq capsule order-7 -o order-7.capsule.json.gz",
    "redrive dlq capsule open order-7.capsule.json.gz",
  ],
  arguments: {
    item: argument("<item>", "an item id or a unique prefix; or the word open"),
    file: argument("[file]", "the capsule to open"),
  },
  options: {
    job: ofJob("the item's job"),
    output: word(
      "-o, --output <file>",
      "the file, or the folder to unpack into (default: ITEM.capsule.json.gz)",
    ),
    names: list("--env <names>", "environment variables to include"),
  },
  run: async (context, { item, file, job, output, names = [] }) => {
    if (item === "open" && file !== undefined) return openCapsule(context, file, output);
    if (file !== undefined) throw userError("usage", `Unexpected argument ${file}.`, CAPSULE_USAGE);
    const { env, version, cwd } = context.terminal;
    const { makeCapsule } = await import("../../dead-letter/make-capsule.ts");
    const made = await context.withStore(async (engine) => {
      const letter = await requireLetter(engine, item, job).catch((error) => {
        if (item !== "open") throw error;
        throw userError("usage", "No capsule was given.", CAPSULE_USAGE, error);
      });
      return makeCapsule(engine, letter, { env, version, names });
    });
    const { attempts, files, missing, changes } = made;
    const itemId = String(made.letter.item_id);
    const to = resolve(cwd, output ?? `${fileNameOf(itemId)}.capsule.json.gz`);
    const bytes = await writeCapsule(to, made);
    for (const sentence of missing) context.note(`Not included: ${sentence}`);
    const document = {
      path: to,
      bytes,
      job_id: String(made.letter.job_id),
      item_id: itemId,
      attempts: attempts.length,
      files: files.length,
      has_changes: changes !== null,
      missing,
    };
    return context.answer(document, () => `${to}\n`);
  },
});

const CAPSULE_USAGE =
  "To create one: redrive dlq capsule ITEM -o FILE. To open one: redrive dlq capsule open FILE";

/** Prints a capsule, or writes its parts as files to an output folder. */
async function openCapsule(context: Context, file: string, output?: string): Promise<number> {
  const { paint, columns, terminal } = context;
  const opened = await readCapsule(resolve(terminal.cwd, file));
  if (output === undefined) {
    const letter = () => letterText(letterFromJson(opened.letter), { paint, columns });
    return context.answer(opened, () => `${letter()}\n${capsuleText(opened, { paint, path: file })}`);
  }
  const folder = resolve(terminal.cwd, output);
  const files = await unpackCapsule(opened, folder);
  return context.answer({ folder, files }, () => files.map((name) => `${folder}/${name}\n`).join(""));
}

const evidence = command({
  summary: "List or copy the evidence files that the attempts of a letter reported.",
  examples: ["redrive dlq evidence order-7", "redrive dlq evidence order-7 --attempt 2 --out ./evidence"],
  arguments: { item: argument("<item>", "an item id or a unique prefix") },
  options: {
    job: ofJob("the item's job"),
    attempt: count("-a, --attempt <n>", "only files from this attempt (default: all)", 1),
    out: path("--out <folder>", "copy unchanged files into this folder"),
  },
  run: async (context, { item, job, attempt, out }) => {
    const { letter, attempts } = await context.withStore(async (engine) => {
      const found = await requireLetter(engine, item, job);
      return { letter: found, attempts: await engine.listAttempts(found.ref) };
    });
    const named = namedBy(letter, attempts, attempt);
    if (named.length === 0) throw noEvidence(letter, attempt);
    const files = out === undefined ? named : await copyEvidence(named, resolve(context.terminal.cwd, out));
    const document = { item_id: letter.itemId, job_id: letter.jobId, files: files.map(fileToJson) };
    const isIncomplete = files.some((one) => "why" in one);
    const lines = () => files.map((one) => `${clean(evidenceLine(one))}\n`).join("");
    return context.answer(document, lines, isIncomplete ? EXIT.failed : EXIT.done);
  },
});

function namedBy({ failureHistory }: Letter, attempts: readonly Attempt[], attempt: number | undefined) {
  const elsewhere = new Set(attempts.filter(isFromElsewhere).map(({ number }) => number));
  return failureHistory
    .filter(({ attemptNumber }) => attempt === undefined || attemptNumber === attempt)
    .flatMap(({ attemptNumber, evidence: files = [] }) =>
      files.map((file) => ({
        attempt: attemptNumber,
        file,
        ...(elsewhere.has(attemptNumber) && { isFromElsewhere: true }),
      })),
    );
}

function noEvidence({ itemId }: Letter, attempt: number | undefined): RedriveError {
  const what =
    attempt === undefined
      ? `No attempt of ${itemId} reported an evidence file.`
      : `Attempt ${attempt} of ${itemId} reported no evidence file.`;
  const hint =
    "A command reports files in the `evidence` list of its failure file; a handler calls context.evidence(path).";
  return userError("log_not_found", what, hint);
}

function fileToJson(one: NamedEvidence | CopiedEvidence): JsonObject {
  return {
    attempt: one.attempt,
    ...evidenceFileToJson(one.file),
    ...("copy" in one && one.copy !== undefined && { copy: one.copy }),
    ...("why" in one && { not_copied: one.why }),
  };
}

function evidenceLine(one: NamedEvidence | CopiedEvidence): string {
  const attempt = `#${one.attempt}  `;
  if ("why" in one) return `${attempt}not copied: ${one.file.path} ${one.why}`;
  return attempt + ("copy" in one && one.copy !== undefined ? one.copy : evidenceText(one.file));
}

export const commands = { export: exportLettersTo, import: importLettersFrom, mirror, capsule, evidence };
