/** The letter directory follows the store: after a crash, after other processes, and without writing the index for each letter. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { appendLetters, rewriteLetters } from "../../src/dead-letter/all-letters.ts";
import { Projection } from "../../src/dead-letter/projection.ts";
import { letterToJson } from "../../src/item/letter.ts";
import type { JsonObject } from "../../src/std/json.ts";
import { buried, succeeded } from "../support/settlements.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { JOB, LetterKit, namesIn, readJson } from "./letter-kit.ts";

const temporary = new TemporaryDirectory();
afterAll(() => temporary.remove());

describe("the projection of a job's letters", () => {
  let kit: LetterKit;
  let root: string;
  let folder: string;
  let changes: JsonObject[];
  beforeEach(async () => {
    kit = await LetterKit.open();
    root = temporary.file("dlq");
    folder = join(root, JOB);
    changes = [];
  });

  const project = () =>
    new Projection({
      engine: kit.engine,
      jobId: JOB,
      root,
      documents: async () => ({ patterns: { total: (await kit.letters()).length }, metrics: { job: JOB } }),
      onChange: async (some) => void changes.push(...some),
    });

  /** What the folder says is what the store says. */
  const expectTheSame = async () => {
    const letters = await kit.letters();
    expect(readJson(folder, "index.json")).toMatchObject({
      job_id: JOB,
      item_count: letters.length,
      item_ids: letters.map(({ itemId }) => itemId),
    });
    expect(namesIn(folder, "items")).toEqual(letters.map(({ itemId }) => `${itemId}.json`).sort());
    for (const letter of letters) {
      expect(readJson(folder, "items", `${letter.itemId}.json`)).toEqual(letterToJson(letter));
    }
    expect(readJson(folder, "patterns.json")).toEqual({ total: letters.length });
    expect(readJson(folder, "metrics.json")).toEqual({ job: JOB });
  };

  it("creates no folder before there is a letter", async () => {
    const projection = project();
    await kit.engine.add(JOB, [{ itemId: "a", data: 1 }]);
    expect(await projection.finish()).toEqual({ files: 0, indexes: 0, items: 0 });
    expect(existsSync(root)).toBe(false);
    await kit.end(1, buried);
    await projection.catchUp();
    await expectTheSame();
  });

  it("follows letters that arrive, change and leave", async () => {
    const projection = project();
    await kit.bury(["a", "b", "c"]);
    await projection.catchUp();
    await kit.redrive(succeeded, ["a"]);
    await kit.redrive(buried, ["b"]);
    await kit.discard("c");
    await kit.bury(["d"]);
    await projection.catchUp();
    await expectTheSame();
    expect(namesIn(folder, "items")).toEqual(["b.json", "d.json"]);
    expect(readJson(folder, "items", "b.json")).toMatchObject({ redrive_count: 1, failure_count: 2 });
    expect(changes.map(({ item_id, state }) => [item_id, state])).toEqual([
      ...["a", "b", "c"].map((id) => [id, "dead"]),
      ...[
        ["a", "done"],
        ["b", "dead"],
        ["c", "discarded"],
        ["d", "dead"],
      ],
    ]);
  });

  it("removes the file of a deleted letter, and records that", async () => {
    const projection = project();
    await kit.bury(["a", "b"]);
    await projection.catchUp();
    const id = await kit.begin("purge", ["a"]);
    await kit.engine.advance(id, { max: 10 });
    changes = [];
    await projection.catchUp();
    await expectTheSame();
    expect(changes).toEqual([
      { item_id: "a", job_id: JOB, queue: JOB, state: "discarded", removed: "purged" },
    ]);
  });

  it("another process continues where a crashed one stopped, even between two files", async () => {
    await kit.bury(["a", "b"]);
    await project().catchUp();
    const old = readFileSync(join(folder, "index.json"), "utf8");
    await kit.redrive(succeeded, ["a"]);
    await kit.bury(["c", "d"]);
    await project().catchUp();
    writeFileSync(join(folder, "index.json"), old); // killed before the index was written
    rmSync(join(folder, "items", "d.json"));
    await project().catchUp();
    await expectTheSame();
  });

  it("writes a folder without an index again, and removes files that do not belong there", async () => {
    await kit.bury(["a", "b"]);
    await project().catchUp();
    rmSync(join(folder, "index.json"));
    writeFileSync(join(folder, "items", "z.json"), "{}");
    await project().catchUp();
    await expectTheSame();
  });

  it("rewrites a folder after a restart of the machine, because files may have been lost", async () => {
    await kit.bury(["a", "b"]);
    await project().catchUp();
    const index = readJson(folder, "index.json");
    const [name, , ...rest] = String(index.machine).split("/");
    const machine = [name, "another-boot", ...rest].join("/");
    writeFileSync(join(folder, "index.json"), JSON.stringify({ ...index, machine }));
    writeFileSync(join(folder, "items", "a.json"), ""); // as a power failure may leave it
    await project().catchUp();
    await expectTheSame();
  });

  it("continues a folder that another machine wrote", async () => {
    await kit.bury(["a", "b"]);
    await project().catchUp();
    const index = readJson(folder, "index.json");
    writeFileSync(join(folder, "index.json"), JSON.stringify({ ...index, machine: "another/boot/ns" }));
    expect(await project().catchUp()).toEqual({ files: 0, indexes: 0, items: 2 });
  });

  it("writes a folder again that was deleted meanwhile", async () => {
    const projection = project();
    await kit.bury(["a", "b"]);
    await projection.catchUp();
    rmSync(folder, { recursive: true });
    await kit.bury(["c"]);
    await projection.catchUp();
    await expectTheSame();
  });

  it("two processes that write at once end with the contents of the store", async () => {
    const [one, other] = [project(), project()];
    await kit.bury(["a"]);
    for (let round = 1; round <= 5; round += 1) {
      const flushes = [one.catchUp(), other.catchUp()];
      await kit.bury([`b${round}`, `c${round}`]);
      await kit.redrive(succeeded, [`b${round}`]);
      await Promise.all(flushes);
    }
    await Promise.all([one.finish(), other.finish()]);
    await expectTheSame();
  });

  it("finally writes letters in retry as they are, and those that a cancelled redrive took back", async () => {
    await kit.bury(["a", "b", "c"]);
    await project().finish();
    const id = await kit.begin("redrive", ["a", "b"]);
    await kit.engine.advance(id, { max: 10 });
    await project().finish();
    await expectTheSame();
    expect(readJson(folder, "items", "a.json").state).toBe("ready");
    await kit.engine.changeOperation(id, { status: "cancelled" });
    await project().finish();
    await expectTheSame();
    expect(readJson(folder, "items", "a.json").state).toBe("dead");
  });

  it("does nothing if nothing has changed", async () => {
    await kit.bury(["a"]);
    await project().finish();
    const before = readFileSync(join(folder, "index.json"), "utf8");
    kit.clock.advance(5000);
    await kit.engine.add(JOB, [{ itemId: "b", data: 1 }]);
    expect(await project().finish()).toEqual({ files: 0, indexes: 0, items: 1 });
    expect(readFileSync(join(folder, "index.json"), "utf8")).toBe(before);
  });
});

describe("the stream of all letters", () => {
  const lines = (folder: string) =>
    readFileSync(join(folder, "all-items.jsonl"), "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as JsonObject);

  it("grows by a line for each change", async () => {
    const folder = temporary.file("global");
    await appendLetters(folder, [{ item_id: "a" }, { item_id: "b" }]);
    await appendLetters(folder, [{ item_id: "a", state: "done" }]);
    expect(lines(folder)).toEqual([{ item_id: "a" }, { item_id: "b" }, { item_id: "a", state: "done" }]);
  });

  it("keeps lines that others add while it is rewritten", async () => {
    const folder = temporary.file("global");
    await appendLetters(folder, [{ item_id: "old" }]);
    const adding: Promise<void>[] = [];
    // What was there before the writing began is the store's to tell; from here on it is this file's.
    async function* letters(): AsyncGenerator<JsonObject> {
      for (let n = 1; n <= 20; n += 1) adding.push(appendLetters(folder, [{ item_id: `late-${n}` }]));
      yield { item_id: "a" };
      await appendLetters(folder, [{ item_id: "meanwhile" }]);
      yield { item_id: "b" };
    }
    await rewriteLetters(folder, letters());
    await Promise.all(adding);
    const ids = lines(folder).map(({ item_id }) => item_id);
    expect(ids.slice(0, 2)).not.toContain("old");
    expect(new Set(ids)).toEqual(
      new Set(["a", "b", "meanwhile", ...adding.map((_, index) => `late-${index + 1}`)]),
    );
  });
});
