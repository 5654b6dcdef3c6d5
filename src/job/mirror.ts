/** Writes letter directories from the store outside of a run: all of it anew, or what has changed. */
import { existsSync } from "node:fs";
import { rewriteLetters } from "../dead-letter/all-letters.ts";
import type { WrittenFolder } from "../dead-letter/directory.ts";
import type { Engine } from "../engine.ts";
import type { Job } from "../item/job.ts";
import { letterToJson } from "../item/letter.ts";
import type { ItemState } from "../item/state.ts";
import type { JsonObject } from "../kit/json.ts";
import { selectLetters } from "../redrive/select.ts";
import { everyJob } from "./every-job.ts";
import { type DirectoryPlace, globalFolder, openProjection, writePlacePolicy } from "./letter-directory.ts";
import { refreshReceipts } from "./receipts-mirror.ts";

/** Writes the directory of one job anew. A job without letters gets no folder; one that it has is emptied. */
export async function mirrorJob(engine: Engine, job: Job, place: DirectoryPlace): Promise<WrittenFolder> {
  await refreshReceipts(engine, job, place.home);
  return rewrite(engine, job, { ...place, tellsAll: true });
}

/** Writes the directories of all jobs that have letters or a folder, and the stream of all letters. */
export async function mirrorAll(engine: Engine, place: DirectoryPlace): Promise<readonly WrittenFolder[]> {
  const written: WrittenFolder[] = [];
  await mirrorStream(engine, place);
  for await (const job of everyJob(engine)) {
    const isThere = openProjection(engine, job, place).isThere;
    await refreshReceipts(engine, job, place.home);
    const one = await rewrite(engine, job, { ...place, tellsAll: false });
    if (isThere || one.items > 0) written.push(one);
  }
  return written;
}

/**
 * After a command that has changed letters: brings a job's directory to what the store says, and is quick about it.
 * `changed` names the items whose letters have changed without an event that says so, as a note does.
 */
export async function refreshDirectory(
  engine: Engine,
  job: Job,
  { changed = [], ...place }: DirectoryPlace & { readonly changed?: readonly string[] },
): Promise<void> {
  await openProjection(engine, job, place).finish(changed);
}

async function rewrite(
  engine: Engine,
  job: Job,
  place: DirectoryPlace & { readonly tellsAll: boolean },
): Promise<WrittenFolder> {
  const projection = openProjection(engine, job, place);
  await projection.rebuild();
  // What came or left meanwhile is told in any case.
  const { items } = await openProjection(engine, job, { ...place, tellsAll: true }).finish();
  return { jobId: job.id, folder: projection.folder, items };
}

async function mirrorStream(engine: Engine, place: DirectoryPlace): Promise<void> {
  const folder = globalFolder(place);
  const { total } = await engine.listLetters({ states: STATES, limit: 0 });
  if (total === 0 && !existsSync(folder)) return;
  await rewriteLetters(folder, allLetters(engine));
  await writePlacePolicy(engine, place);
}

const STATES: readonly ItemState[] = ["dead", "ready", "leased", "done", "discarded"];

/** Letters that have left are there with the state that they left in. */
async function* allLetters(engine: Engine): AsyncGenerator<JsonObject> {
  const selection = { filter: { states: STATES } };
  for await (const letter of selectLetters(engine, selection, { order: "oldest" }))
    yield letterToJson(letter);
}
