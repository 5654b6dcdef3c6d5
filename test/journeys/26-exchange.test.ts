/** Exports and imports letters: every format, both compressions, pipes, and invalid files. */

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { PRODIGY_LETTER } from "../support/prodigy-letter.ts";
import {
  asJsonLines,
  type ErrorJson,
  type LetterPageJson,
  openWorkshop,
  SOUND,
  type Workshop,
} from "./workshop.ts";

type ImportJson = {
  readonly imported: number;
  readonly extended: number;
  readonly existing: number;
  readonly refused: readonly { readonly where: string; readonly why: string }[];
  readonly refused_count: number;
  readonly jobs: readonly { readonly job_id: string; readonly created: boolean; readonly imported: number }[];
  readonly ignored_fields: readonly string[];
  readonly dry_run: boolean;
};

/** Three letters of two kinds, and one item that succeeded. */
async function withLetters(workshop = openWorkshop()): Promise<Workshop> {
  const script =
    'case "$1" in *ok*) exit 0;; *slow*) echo "too slow" >&2; exit 75;; *) echo "no such file" >&2; exit 2;; esac';
  await workshop.map([{ a: "ok" }, { a: "slow" }, { a: "x", n: 1 }, { a: "=y", n: 2 }], script, [
    "--retries",
    "0",
    "--name",
    "first",
  ]);
  expect(await workshop.letters()).toHaveLength(3);
  return workshop;
}

const documentOf = async (workshop: Workshop, ...flags: string[]) =>
  (await workshop.run(["dlq", "export", "-", ...flags])).json<LetterPageJson>();

function put(workshop: Workshop, name: string, content: unknown): string {
  mkdirSync(dirname(workshop.path(name)), { recursive: true });
  return workshop.write(name, typeof content === "string" ? content : JSON.stringify(content, null, 2));
}

describe("export and import", () => {
  test.each([
    "letters.json",
    "letters.jsonl",
    "letters.ndjson",
    "letters.csv",
    "letters.json.gz",
    "letters.jsonl.zst",
    "letters.csv.gz",
    "folder/",
  ])("the letters of one store are those of another after %s", async (name) => {
    const from = await withLetters();
    const to = openWorkshop();
    const before = await documentOf(from);
    expect(before).toMatchObject({ total: 3, items: [{}, {}, {}] });
    const exported = await from.run(["dlq", "export", name]);
    expect(exported).toMatchObject({ code: 0, stderr: "" });
    expect(exported.stdout).toContain("3 letters");
    const imported = await to.json<ImportJson>("dlq", "import", from.path(name));
    expect(imported).toMatchObject({ imported: 3, refused_count: 0, jobs: [{ created: true, imported: 3 }] });
    expect(await documentOf(to)).toEqual(before);
    expect(await to.json<ImportJson>("dlq", "import", from.path(name))).toMatchObject({
      imported: 0,
      existing: 3,
    });
    expect(await documentOf(to)).toEqual(before);
    expect(await to.check()).toBe(SOUND);
  });

  test("the format follows from the name", async () => {
    const workshop = await withLetters();
    const bytes = async (name: string, ...flags: string[]) => {
      const { code } = await workshop.run(["dlq", "export", name, ...flags]);
      expect(code).toBe(0);
      return readFileSync(workshop.path(name));
    };
    const lines = (await bytes("a.jsonl")).toString().trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).state)).toEqual(["dead", "dead", "dead"]);
    expect(JSON.parse((await bytes("a.json")).toString())).toMatchObject({ total: 3 });
    expect(
      gunzipSync(await bytes("a.jsonl.gz"))
        .toString()
        .split("\n"),
    ).toHaveLength(4);
    expect((await bytes("a.json.zst")).subarray(0, 4)).toEqual(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]));
    expect((await bytes("a.csv")).toString()).toMatch(/^item_id,job_id,/);
    // The name has no known extension: JSON, unless a format is named.
    expect(JSON.parse((await bytes("plain")).toString())).toMatchObject({ total: 3 });
    expect((await bytes("a.txt", "--format", "csv")).toString()).toMatch(/^item_id,job_id,/);
    expect(readdirSync(workshop.home).filter((name) => name.startsWith("."))).toEqual([]);
    if (spawnSync("zstd", ["--version"]).status === 0) {
      const plain = execFileSync("zstd", ["-d", "-c", workshop.path("a.json.zst")]);
      expect(JSON.parse(plain.toString())).toMatchObject({ total: 3 });
    }
  });

  test("a folder has the layout of the letter directory: items, an index, and names that are no paths", async () => {
    const workshop = await withLetters();
    put(
      workshop,
      "evil.jsonl",
      asJsonLines([{ item_id: "../../evil", item_data: 1, failure_count: 1, job_id: "../up" }]),
    );
    await workshop.run(["dlq", "import", "evil.jsonl"]);
    expect((await workshop.run(["dlq", "export", "out/", "--json"])).json()).toMatchObject({
      format: "directory",
      letters: 4,
    });
    const all = readdirSync(workshop.path("out"), { recursive: true }).map(String);
    expect(all.filter((name) => /items\/.*\.json$/.test(name))).toHaveLength(4);
    expect(all.filter((name) => name.endsWith("index.json"))).toHaveLength(2);
    expect(existsSync(workshop.path("evil.json"))).toBe(false);
    const other = openWorkshop();
    expect(await other.json("dlq", "import", workshop.path("out"))).toMatchObject({ imported: 4 });
    expect((await other.letters("--job", "../up"))[0]?.item_id).toBe("../../evil");
  });

  test("stdout has the letters and nothing else, and can be piped", async () => {
    const workshop = await withLetters();
    const result = await workshop.run(["dlq", "export", "-"]);
    expect(result.json<LetterPageJson>().total).toBe(3);
    expect(result.stderr).toContain("3 letters");
    const csv = await workshop.run(["dlq", "export", "-", "-f", "csv"]);
    const to = openWorkshop();
    const imported = await to.run(["dlq", "import", "-", "--json"], { stdin: csv.stdoutBytes });
    expect(imported.json<ImportJson>()).toMatchObject({ imported: 3 });
    const refused = await workshop.run(["dlq", "export", "-", "-f", "csv", "--json"]);
    expect(refused.code).toBe(2);
    expect(refused.json<ErrorJson>().error.code).toBe("usage");
  });

  test("a reader that closes stdout early does not make it fail", async () => {
    const workshop = openWorkshop();
    put(workshop, "many.jsonl", manyLetters(5000));
    await workshop.run(["dlq", "import", "many.jsonl"]);
    const running = workshop.start(["dlq", "export", "-"]);
    await running.untilStdout("item_id");
    running.closeStdout();
    expect(await running.ended).toMatchObject({ code: 0, signal: null });
  });

  test("only the selected letters are exported", async () => {
    const workshop = await withLetters();
    const ids = async (...flags: string[]) =>
      (await documentOf(workshop, ...flags)).items.map(({ item_data }) => (item_data as { a: string }).a);
    expect(await ids()).toEqual(expect.arrayContaining(["slow", "x", "=y"]));
    expect(await ids("--search", "too slow")).toEqual(["slow"]);
    expect(await ids("--filter", "item.a == 'x'")).toEqual(["x"]);
    expect(await ids("--type", "Timeout")).toEqual([]);
    expect(await ids("--older-than", "1h")).toEqual([]);
    expect(await ids("--attempts", "2..")).toEqual([]);
    expect(await ids("--job", "first")).toHaveLength(3);
    const [one] = await workshop.letters("--filter", "item.a == 'x'");
    await workshop.run(["dlq", "discard", one?.item_id ?? "", "--reason", "not ours", "--yes"]);
    expect(await ids()).toHaveLength(2);
    expect(await ids("--state", "discarded")).toEqual(["x"]);
    expect(await ids("--state", "all")).toHaveLength(3);
    expect((await workshop.run(["dlq", "export", "-", "--filter", "item.a =="])).code).toBe(2);
    expect((await workshop.run(["dlq", "export", "-", "--job", "nobody"])).code).toBe(4);
  });

  test("decisions about a letter are exported and imported with it", async () => {
    const from = await withLetters();
    const [one, two] = await from.letters();
    await from.run(["dlq", "note", one?.item_id ?? "", "look at this"]);
    await from.run(["dlq", "edit", two?.item_id ?? "", "--patch", '{"n": 7}', "--yes"]);
    await from.run(["dlq", "discard", one?.item_id ?? "", "--reason", "not ours", "--yes"]);
    const before = await documentOf(from, "--state", "all");
    for (const text of ["look at this", "not ours", '"n":7', '"amendments":['])
      expect(JSON.stringify(before)).toContain(text);
    await from.run(["dlq", "export", "all.csv.gz", "--state", "all"]);
    const to = openWorkshop();
    expect(await to.json("dlq", "import", from.path("all.csv.gz"))).toMatchObject({ imported: 3 });
    expect(await documentOf(to, "--state", "all")).toEqual(before);
    expect(await to.letters()).toHaveLength(2);
  });

  test("error bodies have a line for each failure, with the fields of Power Automate", async () => {
    const workshop = openWorkshop();
    await workshop.map(["a"], "echo boom >&2; exit 3", [
      "--retries",
      "1",
      "--backoff",
      "fixed:1ms",
      "--name",
      "pa",
    ]);
    const { stdout } = await workshop.run(["dlq", "export", "-", "--format", "error-body"]);
    const bodies = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const [letter] = await workshop.letters();
    expect(bodies).toMatchObject(
      ["1", "2"].map((attempt) => ({
        ExecutionId: `${letter?.failure_history[0]?.agent_id}#${attempt}`,
        DesktopFlow: letter?.job_id,
        Subflow: letter?.failure_history[0]?.step_failed,
        Action: attempt,
        "Action name": letter?.failure_history[0]?.step_failed,
        "Error Message": letter?.failure_history[0]?.error_message,
        "Error Evidence": expect.stringContaining(".log"),
        "Job Id": letter?.job_id,
        "Item Id": letter?.item_id,
      })),
    );
    put(workshop, "errors.jsonl", stdout);
    const to = openWorkshop();
    expect(await to.json("dlq", "import", workshop.path("errors.jsonl"))).toMatchObject({ imported: 1 });
    expect((await to.letters())[0]).toMatchObject({
      item_id: letter?.item_id,
      item_data: "a",
      failure_count: 2,
    });
  });
});

function manyLetters(count: number): string {
  return asJsonLines(
    Array.from({ length: count }, (_, n) => ({
      ...PRODIGY_LETTER,
      item_id: `item-${n}`,
      item_data: { n },
      job_id: "many",
    })),
  );
}

describe("letters of other programs", () => {
  test("a folder of Prodigy is imported, listed, and can be exported", async () => {
    const workshop = openWorkshop();
    const folder = ".prodigy/dlq/prodigy/mapreduce-1234567890/mapreduce/dlq/mapreduce-1234567890";
    put(workshop, `${folder}/items/item-123.json`, PRODIGY_LETTER);
    put(workshop, `${folder}/index.json`, { job_id: "mapreduce-1234567890", item_ids: ["item-123"] });
    symlinkSync("/etc/hostname", workshop.path(`${folder}/items/link.json`));
    const result = await workshop.run(["dlq", "import", ".prodigy/dlq", "--json"]);
    expect(result.code).toBe(3);
    expect(result.json<ImportJson>()).toMatchObject({
      imported: 1,
      refused_count: 1,
      refused: [{ why: "a symbolic link, which is not followed" }],
      jobs: [{ job_id: "mapreduce-1234567890", created: true }],
    });
    const [letter] = await workshop.letters("--job", "mapreduce-1234567890");
    expect(letter).toMatchObject({
      item_id: "item-123",
      error_pattern: expect.stringMatching(/^CommandFailed::cargo test failed/),
      worktree_artifacts: PRODIGY_LETTER.worktree_artifacts,
    });
    expect(letter?.error_signature).toMatch(/^[0-9a-f]{16}$/);
    const job = await workshop.json<{ status: string }>("status", "mapreduce-1234567890");
    expect(job.status).toBe("completed");
  });

  test("a folder of mmm with several jobs, and its receipts, are imported", async () => {
    const workshop = openWorkshop();
    const { worktree_artifacts: _artifacts, ...mmm } = PRODIGY_LETTER;
    for (const job of ["one", "two"]) put(workshop, `.mmm/mapreduce/dlq/${job}/items/item-123.json`, mmm);
    put(workshop, ".mmm/mapreduce/dlq/global/all-items.jsonl", asJsonLines([mmm]));
    expect(await workshop.json("dlq", "import", ".mmm/mapreduce/dlq")).toMatchObject({
      imported: 2,
      existing: 1,
      jobs: [{ job_id: "one" }, { job_id: "two" }],
    });
    const receipt = { lease_id: "abc-123", task_id: "task-456", status: "complete" };
    put(workshop, "receipts.json", [{ receipt, failed_at: "2024-01-15T10:30:45Z", attempts: 5 }]);
    expect(await workshop.json("dlq", "import", "receipts.json")).toMatchObject({ imported: 1 });
    expect(await workshop.letters("--job", "receipts")).toMatchObject([
      { item_data: receipt, reason: "out of retries (5 attempts used)" },
    ]);
    expect(
      await workshop.json("dlq", "import", "receipts.json", "--format", "receipts", "--job", "one"),
    ).toMatchObject({
      imported: 1,
      jobs: [{ job_id: "one", created: false }],
    });
    expect(await workshop.check()).toBe(SOUND);
  });

  test("with --job all go into one job, and existing letters get the attempts they lack", async () => {
    const workshop = await withLetters();
    const [letter] = await workshop.letters();
    const longer = {
      ...letter,
      failure_history: [1, 2].map((n) => ({ ...letter?.failure_history[0], attempt_number: n })),
    };
    put(workshop, "more.json", [longer, { ...PRODIGY_LETTER, job_id: "elsewhere" }]);
    expect(await workshop.json("dlq", "import", "more.json", "--job", "first")).toMatchObject({
      imported: 1,
      extended: 1,
      jobs: [{ created: false }],
    });
    expect(await workshop.letters("--job", "first")).toHaveLength(4);
    const { jobs } = await workshop.json<{ jobs: readonly { job_id: string }[] }>("jobs");
    expect(jobs).toHaveLength(1);
    expect((await workshop.run(["dlq", "import", "more.json", "--job", "a\nb"])).code).toBe(2);
    expect((await workshop.events("--type", "dlq_items_imported"))[0]?.data).toMatchObject({
      imported: 1,
      extended: 1,
    });
  });
});

describe("invalid input", () => {
  test("a dry run reports what would be done, and changes nothing", async () => {
    const workshop = openWorkshop();
    put(workshop, "x.jsonl", `${JSON.stringify(PRODIGY_LETTER)}\n{"broken"\n`);
    const dry = await workshop.run(["dlq", "import", "x.jsonl", "--dry-run", "--json"]);
    expect(dry.code).toBe(3);
    expect(dry.json()).toMatchObject({ imported: 1, refused_count: 1, dry_run: true });
    expect(await workshop.letters()).toEqual([]);
    expect((await workshop.json<{ jobs: unknown[] }>("jobs")).jobs).toEqual([]);
    const text = await workshop.run(["dlq", "import", "x.jsonl", "--dry-run"]);
    expect(text.stdout).toContain("Would be: 1 imported, 0 extended, 0 existing, 1 refused.");
    expect(text.stdout).toContain(`refused ${workshop.path("x.jsonl")}:2: invalid JSON`);
  });

  test("some refused is exit code 3, all refused is 2, and an unknown format is an error", async () => {
    const workshop = openWorkshop();
    const codeOf = async (name: string, content: string | Uint8Array, ...flags: string[]) => {
      workshop.write(name, content);
      return (await workshop.run(["dlq", "import", name, ...flags])).code;
    };
    expect(await codeOf("a.jsonl", "")).toBe(0);
    expect(await codeOf("b.jsonl", `7\n${JSON.stringify(PRODIGY_LETTER)}\n`)).toBe(3);
    expect(await codeOf("c.jsonl", "7\n8\n")).toBe(2);
    expect(await codeOf("d.txt", "hello\n")).toBe(2);
    expect(await codeOf("e.jsonl.gz", gzipSync(manyLetters(2000)).subarray(0, -500))).toBe(3);
    expect((await workshop.run(["dlq", "import", "nothing.json"])).code).toBe(2);
    const empty = await workshop.run(["dlq", "import", ".", "--json"], { cwd: openWorkshop().home });
    expect(empty.code).toBe(2);
    expect(empty.json<ErrorJson>().error.message).toContain("no items folder");
    expect(await workshop.check()).toBe(SOUND);
  });

  test("an export that cannot be written leaves nothing behind", async () => {
    const workshop = await withLetters();
    const result = await workshop.run(["dlq", "export", "no/such/folder.json"]);
    expect(result.code).toBe(2);
    expect(result.stderr).toContain("its folder does not exist");
    writeFileSync(workshop.path("old.json"), "old");
    expect((await workshop.run(["dlq", "export", "old.json", "--filter", "item.a ="])).code).toBe(2);
    expect(workshop.read("old.json")).toBe("old");
  });
});

test("20,000 letters are exported and imported completely", async () => {
  const from = openWorkshop();
  put(from, "many.jsonl", manyLetters(20_000));
  expect(await from.json("dlq", "import", "many.jsonl")).toMatchObject({ imported: 20_000 });
  await from.run(["dlq", "export", "out.jsonl.zst"]);
  const to = openWorkshop();
  expect(await to.json("dlq", "import", from.path("out.jsonl.zst"))).toMatchObject({ imported: 20_000 });
  await to.run(["dlq", "export", "out.jsonl"]);
  await from.run(["dlq", "export", "out.jsonl"]);
  expect(readFileSync(to.path("out.jsonl")).equals(readFileSync(from.path("out.jsonl")))).toBe(true);
  expect(await to.check()).toBe(SOUND);
});
