/** Archives: what is appended is read back, a torn end is cut off, and a file that is not whole is refused. */
import { appendFileSync, readFileSync, rmSync, statSync, truncateSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { ArchiveWriter, archivePath, readArchive } from "../../src/dead-letter/archive.ts";
import { type Letter, letterFromJson, letterToJson } from "../../src/item/letter.ts";
import { letters } from "../item/arbitraries.ts";
import { sampleLetter } from "../redrive/sample-letters.ts";
import { fc } from "../support/properties.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const folder = new TemporaryDirectory();
afterAll(() => folder.remove());

async function write(path: string, batches: readonly (readonly Letter[])[], bytes = 0): Promise<number> {
  const writer = await ArchiveWriter.open(path, bytes);
  let length = bytes;
  for (const batch of batches) length = await writer.append(batch);
  await writer.close();
  return length;
}

async function read(path: string, bytes?: number): Promise<Letter[]> {
  const found: Letter[] = [];
  for await (const letter of readArchive(path, bytes)) found.push(letter);
  return found;
}

const named = (...ids: string[]) => ids.map((itemId) => sampleLetter({ itemId }));
const ids = (found: readonly Letter[]) => found.map(({ itemId }) => itemId);

describe("archive", () => {
  it("is in the home, by job and operation, and an unusual job id is not another path", () => {
    expect(archivePath("/h", "job-1", "op-2")).toBe("/h/dlq/archive/job-1/op-2.jsonl.gz");
    expect(archivePath("/h", "../x", "op-2")).toBe("/h/dlq/archive/%2E.%2Fx/op-2.jsonl.gz");
  });

  it("returns every appended letter, in order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(letters, { maxLength: 3 }), { maxLength: 3 }), async (batches) => {
        const path = folder.file("a.jsonl.gz");
        await write(path, batches);
        const kept = batches.flat().map((letter) => letterFromJson(letterToJson(letter)));
        expect(await read(path)).toEqual(kept);
      }),
      { numRuns: 25 },
    );
  });

  it("can be read by gunzip: one letter on each line", async () => {
    const path = folder.file("b.jsonl.gz");
    await write(path, [named("a", "b"), named("c\u2028d\nx")]);
    const lines = gunzipSync(readFileSync(path)).toString().trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).item_id)).toEqual(["a", "b", "c\u2028d\nx"]);
    expect(ids(await read(path))).toEqual(["a", "b", "c\u2028d\nx"]);
  });

  it("cuts off everything beyond the recorded length before it appends letters", async () => {
    const path = folder.file("c.jsonl.gz");
    const bytes = await write(path, [named("a")]);
    appendFileSync(path, Buffer.alloc(10_000, 7));
    expect(ids(await read(path, bytes))).toEqual(["a"]);
    await write(path, [named("b")], bytes);
    expect(ids(await read(path))).toEqual(["a", "b"]);
  });

  it("writes a member again, once, that was written but not recorded", async () => {
    const path = folder.file("d.jsonl.gz");
    const first = await write(path, [named("a")]);
    await write(path, [named("b")], first);
    await write(path, [named("b", "c")], first);
    expect(ids(await read(path))).toEqual(["a", "b", "c"]);
  });

  it("refuses a file that is missing or shorter than recorded", async () => {
    const path = folder.file("e.jsonl.gz");
    const bytes = await write(path, [named("a")]);
    truncateSync(path, bytes - 1);
    await expect(ArchiveWriter.open(path, bytes)).rejects.toThrow("is shorter");
    await expect(read(path)).rejects.toThrow("cannot be read");
    rmSync(path);
    await expect(ArchiveWriter.open(path, bytes)).rejects.toThrow("does not exist");
    await expect(read(path, bytes)).rejects.toThrow("does not exist");
  });

  it("is readable by its owner only", async () => {
    const path = folder.file("f.jsonl.gz");
    await write(path, [named("a")]);
    expect(statSync(path).mode & 0o077).toBe(0);
  });
});
