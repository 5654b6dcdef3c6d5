/** What the map phase leaves for reduce and merge: a file with one entry for each item, and the same as a value. */
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { Engine } from "../engine.ts";
import type { Job } from "../item/job.ts";
import type { Json } from "../kit/json.ts";

const PAGE_MAX = 500;
/** `${map.results}` holds no more than this; the file has all. */
const RESULTS_BYTES_MAX = 1024 * 1024;

export interface MapResults {
  readonly file: string;
  readonly results: Json;
}

export async function writeResults(engine: Engine, job: Job, folder: string): Promise<MapResults> {
  const file = `${folder}/results.json`;
  const kept: Json[] = [];
  let bytes = 0;
  await pipeline(async function* () {
    let separator = "[\n";
    for await (const entry of entriesOf(engine, job)) {
      const text = JSON.stringify(entry);
      bytes += text.length;
      if (bytes <= RESULTS_BYTES_MAX) kept.push(entry);
      yield separator + text;
      separator = ",\n";
    }
    yield separator === "[\n" ? "[]\n" : "\n]\n";
  }, createWriteStream(file));
  return { file, results: kept };
}

async function* entriesOf(engine: Engine, job: Job): AsyncGenerator<Json> {
  for (let after = 0; ; ) {
    const page = await engine.listResults(job.id, { after, limit: PAGE_MAX });
    for (const { itemId, result } of page) yield { item_id: itemId, status: "success", result };
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.ref;
  }
  for (let cursor: string | undefined; ; ) {
    const page = await engine.listLetters({
      queue: job.id,
      limit: PAGE_MAX,
      ...(cursor !== undefined && { cursor }),
    });
    for (const letter of page.letters) {
      const error = letter.failureHistory.at(-1)?.errorMessage ?? "";
      yield { item_id: letter.itemId, status: "failed", error, signature: letter.errorSignature };
    }
    if (page.next === null) return;
    cursor = page.next;
  }
}
