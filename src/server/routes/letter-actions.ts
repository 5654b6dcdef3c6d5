/** Handlers of the routes that act on one letter, and of downloads and streams of letters. */
import { PassThrough, Readable } from "node:stream";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { CapsuleContent } from "../../dead-letter/capsule.ts";
import { exportLetters } from "../../dead-letter/import-export/export.ts";
import { importLetters } from "../../dead-letter/import-export/import.ts";
import { makeCapsule, readLetterChanges } from "../../dead-letter/make-capsule.ts";
import { letterStatsToJson, sumOfStats } from "../../dead-letter/stats.ts";
import type { Engine, StoredLetter } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { type EvidenceFile, evidenceFileToJson } from "../../item/failure.ts";
import { letterToJson } from "../../item/letter.ts";
import { type OperationKind, operationToJson } from "../../item/operation.ts";
import { requireJob } from "../../queue/find-job.ts";
import { letterStatsOf } from "../../queue/letter-stats.ts";
import { analyseSelected } from "../../redrive/analyse-selected.ts";
import { discardLetters, restoreLetters } from "../../redrive/discard.ts";
import { selectLetters } from "../../redrive/select.ts";
import { detachLetters } from "../../run/retry.ts";
import { compact, stringifyJson } from "../../std/json.ts";
import { evidenceFolder } from "../../store/home.ts";
import { analysisToJson } from "../../triage/analyse.ts";
import { type Handler, Reply } from "../context.ts";
import type { letterActionRoutes } from "../contract/letter-actions.ts";
import { fileResponse } from "../files.ts";
import { requireExactLetter } from "../find.ts";
import { requireVisible } from "../redact.ts";
import { selectionOf } from "../selection.ts";
import { etagOf } from "./letters.ts";

type Routes = typeof letterActionRoutes;

export const letterActionHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "POST /letters/{queue}/{item_id}/retry": async (
    { engine, author, runner, allowsRuns },
    { params, body },
  ) => {
    const letter = await requireState(engine, params, "redrive");
    const job = await requireJob(engine, letter.queue);
    const { force = false, priority } = body;
    const plan = compact({ priority });
    const operation = await detachLetters(engine, { job, selection: only(letter), author, force, plan });
    if (allowsRuns) runner.start(operation);
    return operationToJson(operation);
  },

  "POST /letters/{queue}/{item_id}/discard": async ({ engine, author }, { params, body }) => {
    const letter = await requireState(engine, params, "discard");
    const request = { queue: letter.queue, selection: only(letter), author, reason: body.reason };
    return operationToJson(await discardLetters(engine, request));
  },

  "POST /letters/{queue}/{item_id}/restore": async ({ engine, author }, { params }) => {
    const letter = await requireState(engine, params, "restore");
    return operationToJson(
      await restoreLetters(engine, { queue: letter.queue, selection: only(letter), author }),
    );
  },

  "POST /letters/{queue}/{item_id}/notes": async ({ engine, author }, { params, body }) => {
    const { ref, itemId } = await requireExactLetter(engine, params);
    const noted = (await engine.addNote(ref, { author, text: body.text }))
      ? await engine.readLetter(ref)
      : null;
    if (noted === null)
      throw new RedriveError("item_not_found", `The letter of ${itemId} was deleted in the meantime.`);
    return new Reply(letterToJson(noted), { etag: etagOf(noted) });
  },

  "GET /letters/{queue}/{item_id}/evidence": async ({ engine }, { params }) => {
    const letter = await requireExactLetter(engine, params);
    const files = evidenceOf(letter).map(({ attempt, file }, index) => ({
      number: index + 1,
      attempt,
      ...evidenceFileToJson(file),
      can_download: file.kept !== undefined,
    }));
    return { files };
  },

  "GET /letters/{queue}/{item_id}/evidence/{number}": async (context, { params }) => {
    const { engine, home, headers, redactor } = context;
    if (redactor !== null) requireVisible("downloading evidence");
    const letter = await requireExactLetter(engine, params);
    const file = evidenceOf(letter)[Number(params.number) - 1]?.file;
    if (file?.kept === undefined)
      throw new RedriveError("log_not_found", `The letter has no stored copy of the file ${params.number}.`, {
        hint: "Workers store copies if they are started with --keep-evidence.",
      });
    const folder = evidenceFolder(home, engine.url);
    const name = file.path.split(/[\\/]/).at(-1) ?? "evidence";
    return fileResponse(headers, { folder, path: file.kept, contentType: "application/octet-stream", name });
  },

  "GET /letters/{queue}/{item_id}/changes": async ({ engine, redactor }, { params }) => {
    const letter = await requireExactLetter(engine, params);
    if (redactor !== null && letter.worktreeArtifacts !== undefined) requireVisible("a patch");
    const { found, missing } = await readLetterChanges(engine, letter);
    if (found === null) return { changes: null, missing };
    const { commits, uncommitted, ...rest } = found;
    return {
      changes: { ...rest, commits: textOf(commits), uncommitted: textOf(uncommitted) },
      missing: [...missing],
    };
  },

  "GET /letters/{queue}/{item_id}/capsule": async ({ engine, version, redactor }, { params }) => {
    if (redactor !== null) requireVisible("a capsule");
    const letter = await requireExactLetter(engine, params);
    const capsule = await makeCapsule(engine, letter, { version, env: {} });
    const bytes = await promisify(gzip)(stringifyJson(capsule, 2));
    return new Response(new Uint8Array(bytes), {
      headers: {
        "content-type": "application/gzip",
        "content-disposition": 'attachment; filename="letter.capsule.json.gz"',
      },
    });
  },

  "GET /letters/export": async (context, { query: { format = "jsonl", ...words } }) => {
    const { engine, signal, redactor } = context;
    if (redactor !== null) requireVisible("an export");
    const { selection } = await selectionOf(engine, words);
    const letters = selectLetters(engine, selection, { order: "oldest", signal: signal() });
    const stream = new PassThrough();
    exportLetters(letters, { path: "-", stdout: stream, format }).then(
      () => stream.end(),
      (error: unknown) => stream.destroy(error instanceof Error ? error : new Error(String(error))),
    );
    const type = format === "json" || format === "receipts" ? "application/json" : "application/x-ndjson";
    return new Response(Readable.toWeb(stream) as ReadableStream<Uint8Array>, {
      headers: { "content-type": format === "csv" ? "text/csv; charset=utf-8" : type },
    });
  },

  "POST /letters/import": async ({ engine, stream, stopping }, { query }) => {
    const { job, format, dry_run: isDry = false } = query;
    const stdin = stream === null ? Readable.from([]) : Readable.fromWeb(stream as never);
    const options = { isDry, stdin, signal: stopping, ...compact({ job, format }) };
    const { refused, refusedCount, jobs, ...report } = await importLetters(engine, "-", options);
    const { imported, extended, existing } = report;
    return {
      ...{ imported, extended, existing, refused, refused_count: refusedCount, dry_run: isDry },
      jobs: jobs.map(({ jobId, isNew, imported: own }) => ({ job_id: jobId, created: isNew, imported: own })),
    };
  },

  "GET /letters/analysis": async ({ engine }, { query }) => {
    const { selection } = await selectionOf(engine, query);
    return analysisToJson(await analyseSelected(engine, selection));
  },

  "GET /letters/stats": async ({ engine, config }, { query: { job } }) => {
    const { maxItems } = (await config()).dlq;
    const all = await letterStatsOf(engine, job);
    const jobs = all.map((own) => ({ job_id: own.jobId, ...letterStatsToJson(own, maxItems) }));
    return { jobs, total: letterStatsToJson(sumOfStats(all)) };
  },
};

function only({ itemId }: StoredLetter) {
  return { filter: { itemIds: [itemId] } };
}

const NEEDED = { redrive: "dead", discard: "dead", restore: "discarded" } as const satisfies Partial<
  Record<OperationKind, string>
>;

async function requireState(
  engine: Engine,
  address: Parameters<typeof requireExactLetter>[1],
  kind: keyof typeof NEEDED,
): Promise<StoredLetter> {
  const letter = await requireExactLetter(engine, address);
  if (letter.state === NEEDED[kind]) return letter;
  const message = `${letter.itemId} is ${letter.state}; this needs a letter that is ${NEEDED[kind]}.`;
  throw new RedriveError("illegal_move", message);
}

function evidenceOf({ failureHistory }: StoredLetter): readonly { attempt: number; file: EvidenceFile }[] {
  return failureHistory.flatMap(({ attemptNumber: attempt, evidence = [] }) =>
    evidence.map((file) => ({ attempt, file })),
  );
}

/** A patch as text; null if there is none, or if it is too large or not text. */
function textOf(content: CapsuleContent | undefined): string | null {
  return content === undefined || content.encoding !== "utf8" || content.dropped_bytes > 0
    ? null
    : content.content;
}
