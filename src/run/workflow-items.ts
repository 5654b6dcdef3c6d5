/** Selects the items of a workflow's map phase from its input file, or from the output of its command. */
import { createReadStream, createWriteStream, existsSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { letterPages } from "../dead-letter/pages.ts";
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import { isJsonObject, type Json, stringifyJson } from "../std/json.ts";
import type { FixedItem } from "../workflow/model.ts";
import { secretScript } from "../workflow/program.ts";
import { removeValueFiles, writeValueFiles } from "../workflow/run-program.ts";
import { type Selection, selectFrom } from "../workflow/select-items.ts";
import { expand, naming } from "../workflow/variables.ts";
import { jobVariables, type WorkflowRuntime } from "./workflow-runtime.ts";

export async function selectWorkflowItems(runtime: WorkflowRuntime, stop: AbortSignal): Promise<Selection> {
  const { input } = runtime.spec.workflow.map;
  if ("items" in input) return fixedItems(input.items);
  if ("command" in input) return selectFromCommand(runtime, input.command, stop);
  const path = naming("map.input", () => expand(input.file, jobVariables(runtime)));
  const file = resolve(runtime.workspace.root, path);
  if (runtime.workspace.head && !existsSync(file)) {
    // The file may exist in the user's folder but not be committed.
    const message = `The input ${path} is not in the commit that the agents start from.`;
    throw new RedriveError("input_invalid", message, { hint: "Commit it, or create it in a setup step." });
  }
  return selectFrom({ file }, runtime.spec.workflow.map);
}

function fixedItems(fixed: readonly FixedItem[]): Selection {
  const items = fixed.map(({ id, data }, index) => ({ itemId: id, data, index }));
  const counts = {
    read: items.length,
    filtered: 0,
    duplicates: 0,
    skipped: 0,
    beyond: 0,
    selected: items.length,
  };
  return { items, counts };
}

async function selectFromCommand(
  runtime: WorkflowRuntime,
  command: string,
  stop: AbortSignal,
): Promise<Selection> {
  const { text, env, files } = naming("map.input.command", () =>
    secretScript(command, jobVariables(runtime), runtime.secretValues),
  );
  const { scratch, launcher } = runtime.jobRuntime;
  const prefix = `${scratch}/input`;
  const [stdoutPath, stderrPath] = [`${prefix}.out`, `${prefix}.err`];
  try {
    const launched = launcher.launch({
      argv: ["sh", "-c", text],
      cwd: runtime.workspace.root,
      env: { ...runtime.env, ...env, ...writeValueFiles(files, prefix) },
      stdin: "",
      stdoutPath,
      stderrPath,
    });
    const onStop = () => void launched.end(0);
    stop.addEventListener("abort", onStop, { once: true });
    const { exitCode, signal, startError, stdout, stderr } = await launched.ended;
    stop.removeEventListener("abort", onStop);
    if (exitCode !== 0) {
      const said = runtime.masker.mask(stderr.inline?.toString("utf8").trim() ?? "");
      const message = `The map.input command failed (${exitCode ?? signal ?? startError}): ${said}`;
      throw new RedriveError("input_invalid", message);
    }
    const isInFile = stdout.inline === undefined && stdout.bytes > 0;
    const stream = isInFile
      ? createReadStream(stdoutPath)
      : Readable.from(stdout.inline ? [stdout.inline] : []);
    return await selectFrom({ stream, name: "map.input.command" }, runtime.spec.workflow.map);
  } finally {
    removeValueFiles(Object.keys(files), prefix);
    for (const path of [stdoutPath, stderrPath]) rmSync(path, { force: true });
  }
}

const PAGE_MAX = 500;
/** The size limit of `${map.results}`. The results file contains all results. */
const RESULTS_BYTES_MAX = 1024 * 1024;

/** Writes all results to a file and returns its path, with as many results as fit into `${map.results}`. */
export async function writeResults(engine: Engine, job: Job, folder: string) {
  const file = `${folder}/results.json`;
  const kept: Json[] = [];
  let bytes = 0;
  await pipeline(async function* () {
    let separator = "[\n";
    for await (const entry of entriesOf(engine, job)) {
      const text = stringifyJson(entry);
      bytes += text.length;
      if (bytes <= RESULTS_BYTES_MAX) kept.push(entry);
      yield separator + text;
      separator = ",\n";
    }
    yield separator === "[\n" ? "[]\n" : "\n]\n";
  }, createWriteStream(file));
  return { file, results: kept };
}

/** Sums the durations of all attempts of all items, including failed ones. */
export async function attemptSeconds(engine: Engine, job: Job): Promise<number> {
  let ms = 0;
  for (let after: number | undefined; ; ) {
    const items = await engine.listItems({
      queue: job.id,
      ...(after !== undefined && { after }),
      limit: PAGE_MAX,
    });
    for (const { ref } of items)
      for (const { startedAt, endedAt = startedAt } of await engine.listAttempts(ref))
        ms += Math.max(0, endedAt - startedAt);
    const last = items.at(-1);
    if (last === undefined) return ms / 1000;
    after = last.ref;
  }
}

async function* entriesOf(engine: Engine, job: Job): AsyncGenerator<Json> {
  for (let after = 0; ; ) {
    const page = await engine.listResults(job.id, { after, limit: PAGE_MAX });
    const itemIds = page.map(({ itemId }) => itemId);
    const items = await engine.listItems({ queue: job.id, itemIds, limit: PAGE_MAX });
    const dataById = new Map(items.map(({ itemId, data }) => [itemId, data]));
    for (const { itemId, result } of page)
      yield {
        item_id: itemId,
        item: dataById.get(itemId) ?? null,
        status: "success",
        success: true,
        output: isJsonObject(result) ? (result.output ?? "") : "",
        result,
      };
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.ref;
  }
  for await (const page of letterPages(engine, { queue: job.id, limit: PAGE_MAX })) {
    for (const { itemId, itemData, failureHistory, errorSignature: signature } of page)
      yield {
        item_id: itemId,
        item: itemData,
        status: "failed",
        success: false,
        output: failureHistory.at(-1)?.stdoutTail ?? "",
        error: failureHistory.at(-1)?.errorMessage ?? "",
        signature,
      };
  }
}
