/** Letters as files: what is written is read again, and no name leads anywhere else. */

import { cpSync, existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { itemFileName, writeDirectory } from "../../src/dead-letter/directory.ts";
import { readDirectory } from "../../src/dead-letter/import-export/read-folder.ts";
import { type Letter, letterFromJson, letterToJson } from "../../src/item/letter.ts";
import { letters as anyLetter } from "../item/arbitraries.ts";
import { fc } from "../support/properties.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { namesIn, readJson } from "./letter-kit.ts";

const NOW = Date.UTC(2026, 0, 1);

describe("the letter directory", () => {
  const temporary = new TemporaryDirectory();
  afterAll(() => temporary.remove());

  it("has items, and an index of them", async () => {
    const root = temporary.file("dlq");
    const written = await write(root, [letterOf("b"), letterOf("a")]);
    const folder = join(root, "job-1");
    expect(written).toEqual([{ jobId: "job-1", folder, items: 2 }]);
    expect(namesIn(folder)).toEqual(["index.json", "items"]);
    expect(namesIn(folder, "items")).toEqual(["a.json", "b.json"]);
    expect(readJson(folder, "items", "a.json")).toEqual(letterToJson(letterOf("a")));
    expect(readJson(folder, "index.json")).toEqual({
      job_id: "job-1",
      item_count: 2,
      item_ids: ["b", "a"],
      updated_at: "2026-01-01T00:00:00.000Z",
    });
  });

  it("keeps the later of two versions of a letter, however long the earlier one took", async () => {
    const root = temporary.file("twice");
    const large = { ...letterOf("a"), itemData: "x".repeat(8_000_000) };
    await write(root, [large, { ...letterOf("a"), itemData: "later" }]);
    expect((await readAll(root)).map(({ itemData }) => itemData)).toEqual(["later"]);
  });

  it("any letters of any jobs are read as they were written", async () => {
    const ofJobs = fc.tuple(anyLetter, fc.constantFrom("job-1", "a/b", "..", "Ä"));
    const some = fc.array(
      ofJobs.map(([letter, jobId]) => letterFromJson(letterToJson({ ...letter, jobId, queue: jobId }))),
      { maxLength: 6 },
    );
    const keyOf = ({ jobId, itemId }: Letter) => JSON.stringify([jobId, itemId]);
    const inOrder = (all: Iterable<Letter>) =>
      [...all].sort((one, other) => keyOf(one).localeCompare(keyOf(other)));
    await fc.assert(
      fc.asyncProperty(some, async (letters) => {
        const root = temporary.file("any");
        await write(root, letters);
        const lastOfEach = new Map(letters.map((letter) => [keyOf(letter), letter]));
        const read = letters.length === 0 ? [] : await readAll(root);
        expect(inOrder(read)).toEqual(inOrder(lastOfEach.values()));
      }),
      { numRuns: 60 },
    );
  });

  it("hostile ids stay in items/, each with its own file", async () => {
    const ids = [
      "../../x",
      "",
      "/etc/passwd",
      "a/b",
      "a%2Fb",
      ".hidden",
      "..",
      "ö/ü 🙂",
      "x".repeat(300),
      "X",
      "x",
    ];
    ids.push(`${"x".repeat(299)}y`, "index", "%", "con\nnl", "a\0b");
    const root = temporary.file("hostile");
    await write(root, ids.map(letterOf));
    expect(namesIn(root)).toEqual(["job-1"]);
    expect(namesIn(root, "job-1")).toEqual(["index.json", "items"]);
    const names = namesIn(root, "job-1", "items");
    expect(names).toHaveLength(ids.length);
    expect(names.filter((name) => name.startsWith(".") || !name.endsWith(".json"))).toEqual([]);
    expect(existsSync(join(root, "x.json"))).toBe(false);
    expect((await readAll(root)).map(({ itemId }) => itemId)).toEqual(ids);
  });

  it("on a file system that ignores case, capitals are encoded too", () => {
    expect(itemFileName("Readme", true)).toBe("%52eadme.json");
    expect(itemFileName("Readme")).toBe("Readme.json");
    expect(itemFileName("a/B", true)).toBe("a%2F%42.json");
    const ids = ["a", "A", "%41", "%61", "Ä", "ä", "aB", "Ab"];
    const names = ids.map((id) => itemFileName(id, true).toLowerCase());
    expect(new Set(names).size).toBe(ids.length);
  });

  it("has exactly the letters that were written last; other files are not touched", async () => {
    const root = temporary.file("again");
    await write(root, [letterOf("a"), letterOf("b")]);
    const items = join(root, "job-1", "items");
    writeFileSync(join(items, "README"), "mine");
    await write(root, [letterOf("b"), letterOf("c")]);
    expect(namesIn(items)).toEqual(["README", "b.json", "c.json"]);
    expect(readJson(root, "job-1", "index.json").item_ids).toEqual(["b", "c"]);
  });

  it("drafts are never read, and those of vanished writers are removed", async () => {
    const root = temporary.file("drafts");
    await write(root, [letterOf("a")]);
    const old = join(root, "job-1", "items", ".draft-00000000-1-abc");
    const fresh = join(root, "job-1", "items", ".draft-00000000-2-abc"); // of another machine, which may be at it
    for (const path of [old, fresh]) writeFileSync(path, '{"item_id": "half');
    utimesSync(old, 0, 0);
    expect((await readAll(root)).map(({ itemId }) => itemId)).toEqual(["a"]);
    await write(root, [letterOf("a")]);
    expect(namesIn(root, "job-1", "items")).toEqual([".draft-00000000-2-abc", "a.json"]);
  });

  it("reads folders of Prodigy: letters without a job, and a home of many repositories", async () => {
    const home = temporary.file("prodigy");
    const folder = join(home, "dlq/shop/mapreduce-1/mapreduce/dlq/mapreduce-1");
    mkdirSync(join(folder, "items"), { recursive: true });
    writeFileSync(join(folder, "items", "item 123.json"), JSON.stringify(PRODIGY_ITEM));
    writeFileSync(
      join(folder, "index.json"),
      JSON.stringify({ job_id: "mapreduce-1", item_count: 1, item_ids: ["item 123"], updated_at: "" }),
    );
    cpSync(folder, join(home, "dlq/other/mapreduce-2/mapreduce/dlq/mapreduce-2"), { recursive: true });
    const read = await readAll(home);
    expect(read.map(({ jobId, itemId }) => [jobId, itemId])).toEqual([
      ["mapreduce-1", "item 123"], // of the index, wherever it lies
      ["mapreduce-1", "item 123"],
    ]);
    expect(read[0]).toMatchObject({
      itemData: { file: "src/main.rs" },
      failureHistory: [{ errorType: { name: "CommandFailed", fields: { exit_code: 101 } } }],
    });
  });

  it("without an index, a letter without a job belongs to the folder's job", async () => {
    const root = temporary.file("mmm");
    mkdirSync(join(root, "job-7", "items"), { recursive: true });
    writeFileSync(
      join(root, "job-7", "items", "item-1.json"),
      JSON.stringify({ ...PRODIGY_ITEM, item_id: "i" }),
    );
    expect(await readAll(root)).toMatchObject([{ jobId: "job-7", queue: "job-7", itemId: "i" }]);
    expect(await readAll(join(root, "job-7"))).toMatchObject([{ jobId: "job-7" }]);
  });

  it("a file that is not a letter, and a folder that is not a letter directory, are errors that name it", async () => {
    const root = temporary.file("broken");
    await write(root, [letterOf("a")]);
    writeFileSync(join(root, "job-1", "items", "b.json"), "{");
    await expect(readAll(root)).rejects.toThrow(/b\.json is not a letter: .*JSON/);
    writeFileSync(join(root, "job-1", "items", "b.json"), '{"id": 1}');
    await expect(readAll(root)).rejects.toThrow(/b\.json is not a letter: .*item_id/);
    await expect(readAll(join(root, "job-1", "items"))).rejects.toThrow(/is not a letter directory/);
    await expect(readAll(join(root, "nowhere"))).rejects.toThrow(/cannot be read/);
  });
});

const PRODIGY_ITEM = {
  item_id: "item 123",
  item_data: { file: "src/main.rs" },
  first_attempt: "2025-01-11T10:25:00Z",
  last_attempt: "2025-01-11T10:30:00Z",
  failure_count: 1,
  failure_history: [
    {
      attempt_number: 1,
      timestamp: "2025-01-11T10:30:00Z",
      error_type: { CommandFailed: { exit_code: 101 } },
      error_message: "cargo test failed with exit code 101",
      agent_id: "agent-1",
      step_failed: "shell: cargo test",
      duration_ms: 45000,
    },
  ],
  error_signature: "CommandFailed::cargo test failed with exit",
  reprocess_eligible: true,
  manual_review_required: false,
};

function letterOf(itemId: string): Letter {
  return letterFromJson({ ...PRODIGY_ITEM, item_id: itemId, job_id: "job-1", queue: "job-1" });
}

async function* each(letters: readonly Letter[]): AsyncGenerator<Letter> {
  yield* letters;
}

function write(root: string, letters: readonly Letter[]) {
  return writeDirectory(root, each(letters), { now: NOW });
}

async function readAll(folder: string): Promise<readonly Letter[]> {
  const all: Letter[] = [];
  for await (const letter of readDirectory(folder)) all.push(letter);
  return all;
}
