/** A file is there whole or not at all, and nobody's draft is taken for one, or left lying for ever. */
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { removeStaleDrafts, writeAtomically } from "../../src/std/files.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

describe("writing a file atomically", () => {
  const temporary = new TemporaryDirectory();
  afterAll(() => temporary.remove());
  let folder: string;
  beforeEach(() => {
    folder = temporary.file("folder");
    mkdirSync(folder);
  });

  it("takes text, bytes and pieces, and names of the maximum length", async () => {
    async function* pieces() {
      yield "one ";
      yield Buffer.from("two");
    }
    const long = "n".repeat(255);
    await writeAtomically(join(folder, "text"), "text");
    await writeAtomically(join(folder, "bytes"), Buffer.from([0, 255]));
    await writeAtomically(join(folder, long), pieces());
    expect(readFileSync(join(folder, "text"), "utf8")).toBe("text");
    expect(readFileSync(join(folder, "bytes"))).toEqual(Buffer.from([0, 255]));
    expect(readFileSync(join(folder, long), "utf8")).toBe("one two");
    expect(readdirSync(folder).sort()).toEqual(["bytes", long, "text"]);
  });

  it("a reader sees the old file until the new one is complete", async () => {
    const path = join(folder, "a");
    writeFileSync(path, "old");
    const seen: string[] = [];
    async function* pieces() {
      yield "new ";
      seen.push(readFileSync(path, "utf8"));
      yield "file";
      seen.push(readFileSync(path, "utf8"));
    }
    await writeAtomically(path, pieces(), { syncFolder: false });
    expect(seen).toEqual(["old", "old"]);
    expect(readFileSync(path, "utf8")).toBe("new file");
  });

  it("a failure leaves the file unchanged, and no draft", async () => {
    const path = join(folder, "a");
    writeFileSync(path, "old");
    async function* pieces() {
      yield "half";
      throw new Error("the source broke");
    }
    await expect(writeAtomically(path, pieces())).rejects.toThrow("the source broke");
    expect(readFileSync(path, "utf8")).toBe("old");
    expect(readdirSync(folder)).toEqual(["a"]);
    await expect(writeAtomically(join(folder, "nowhere", "a"), "x")).rejects.toThrow(/ENOENT/);
  });

  it("the draft of a process that is gone is stale, that of a living process is not", async () => {
    const drafts: string[] = [];
    async function* pieces() {
      yield "x";
      drafts.push(...readdirSync(folder));
      await removeStaleDrafts(folder);
    }
    await writeAtomically(join(folder, "a"), pieces()); // its own draft was still there at the end
    expect(readFileSync(join(folder, "a"), "utf8")).toBe("x");
    const gone = drafts[0]?.replace(`-${process.pid}-`, "-4194305-") ?? ""; // above the highest process id there is
    writeFileSync(join(folder, gone), "left");
    await removeStaleDrafts(folder);
    expect(existsSync(join(folder, gone))).toBe(false);
  });

  it("a draft of another machine is stale after a day", async () => {
    const draft = join(folder, ".draft-00000000-1-abc");
    writeFileSync(draft, "");
    await removeStaleDrafts(folder);
    expect(existsSync(draft)).toBe(true);
    const twoDaysAgo = Date.now() / 1000 - 2 * 24 * 60 * 60;
    utimesSync(draft, twoDaysAgo, twoDaysAgo);
    await removeStaleDrafts(folder);
    expect(existsSync(draft)).toBe(false);
  });
});
