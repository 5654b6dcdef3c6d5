/**
 * Mistakes and unusual uses: unset variables, Ctrl-C at any moment, pipes and devices as files, narrow terminals.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, lstatSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CLI_PATH } from "../support/cli.ts";
import { asPerson } from "../support/person.ts";
import { CLI, importLetters, interruptedInBetween } from "./killed-bulk.ts";
import { type ErrorJson, openWorkshop, SOUND, type Workshop } from "./workshop.ts";

/** `script` has other options elsewhere, and there is no /dev/full. */
const NOT_LINUX = process.platform !== "linux";

const FLAGS = ["--retries", "0", "--name", "n", "--id-field", "id"];

async function letters(shop: Workshop, ...ids: string[]): Promise<void> {
  await shop.map(
    ids.map((id) => ({ id })),
    "[ $REDRIVE_ITEM_ID = fine ]",
    FLAGS,
  );
}

describe("an empty name", () => {
  it("means nobody: the only letter is not selected by it", async () => {
    const shop = openWorkshop();
    await letters(shop, "a");
    for (const args of [
      ["dlq", "discard", "", "--reason", "x"],
      ["dlq", "edit", "", "--set", "v=1", "--yes"],
      ["dlq", "retry", "n", ""],
      ["dlq", "retry", ""],
      ["dlq", "note", "", "hello"],
      ["dlq", "inspect", ""],
    ]) {
      const { code } = await shop.run(args);
      expect([args, code]).toEqual([args, 4]);
    }
    expect(await shop.letters()).toMatchObject([{ item_data: { id: "a" }, failure_count: 1 }]);
  });

  it("of a file or folder does not mean the current folder", async () => {
    const shop = openWorkshop();
    await letters(shop, "a");
    const before = readdirSync(shop.home);
    for (const args of [
      ["dlq", "export", ""],
      ["dlq", "import", ""],
      ["dlq", "mirror", "--dlq-dir", ""],
    ]) {
      const { code, stderr } = await shop.run(args);
      expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining("is empty")]);
    }
    expect(readdirSync(shop.home)).toEqual(before);
  });
});

describe("dlq retry of a named item", () => {
  it("that is not a dead letter is refused, like in every command, and nothing runs", async () => {
    const shop = openWorkshop();
    await letters(shop, "a", "fine");
    for (const items of [["fine"], ["a", "fine"]]) {
      const refused = await shop.run(["dlq", "retry", "n", ...items, "--json"]);
      expect([refused.code, refused.json<ErrorJson>().error.code]).toEqual([5, "illegal_move"]);
    }
    expect(await shop.letters()).toMatchObject([{ item_id: "a", redrive_count: 0 }]);
  });
});

describe("missing words", () => {
  it("are reported for the capsule to open, and for a missing command", async () => {
    const shop = openWorkshop();
    const capsule = await shop.run(["dlq", "capsule", "open"]);
    expect([capsule.code, capsule.stderr]).toEqual([2, expect.stringContaining("capsule")]);
    const unknown = [
      ["ops", "nonsense"],
      ["receipts", "nonsense"],
      ["receipts", "nonsense", "gate", "--url", "http://127.0.0.1"],
    ];
    for (const words of unknown) {
      const refused = await shop.run(words);
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining('Unknown command "nonsense"'),
      ]);
    }
    const misspelt = await shop.run(["dlq", "lst"]);
    expect(misspelt.stderr).toContain("redrive dlq list");
  });

  it("a retry of nothing is no dry run", async () => {
    const shop = openWorkshop();
    expect(await shop.json("dlq", "retry")).not.toHaveProperty("dry_run");
    expect(await shop.json("dlq", "retry", "--dry-run")).toMatchObject({ dry_run: true, selected: 0 });
  });
});

describe("Ctrl-C in a change of thousands", () => {
  it.each([
    ["discard", ["dlq", "discard", "--reason", "old", "--yes"]],
    ["edit", ["dlq", "edit", "--set", "n=item.n + 1", "--yes"]],
    ["purge", ["dlq", "purge", "--older-than", "0s", "--yes"]],
  ])("ends a %s between two steps, says how to go on, and answers with one document", async (_, args) => {
    const shop = openWorkshop();
    await importLetters(shop, 4000);
    const { code, stdout, stderr } = await interruptedInBetween(shop, [...args, "--json"]);
    const books = JSON.parse(stdout) as { operation_id: string; selected: number; done: number };
    expect([code, books.selected]).toEqual([130, 4000]);
    expect(books.done).toBeLessThan(4000);
    expect(stderr).toContain("Stopping");
    const resumed = await shop.run(["ops", "resume"]);
    expect([resumed.code, resumed.stdout]).toEqual([0, expect.stringContaining("4000")]);
    expect(await shop.check()).toBe(SOUND);
  });

  it("the text names the command that continues", async () => {
    const shop = openWorkshop();
    await importLetters(shop, 4000);
    const { stdout } = await interruptedInBetween(shop, ["dlq", "discard", "--reason", "old", "--yes"]);
    expect(stdout).toMatch(
      /^Discarded [\d,]+ letters of orders, [\d,]+ left \(to continue: redrive ops resume op-\w+\)\.\n/,
    );
  });

  it("in an export leaves neither half a file nor a draft", async () => {
    const shop = openWorkshop();
    await importLetters(shop, 20_000);
    const before = readdirSync(shop.home);
    const running = shop.start(["dlq", "export", "out.json", "--json"], { stdin: "" });
    const draft = () => readdirSync(shop.home).some((name) => name.startsWith(".draft-"));
    await running.until("a draft is there", draft);
    running.signal("SIGINT");
    const { code, json } = await running.ended;
    expect([code, json<ErrorJson>().error.code]).toEqual([130, "interrupted"]);
    expect(readdirSync(shop.home)).toEqual(before);
  });
});

describe("a terminal", () => {
  it("Ctrl-C at a question is exit code 130, and nothing was done", async () => {
    const shop = openWorkshop();
    await letters(shop, "a", "b");
    for (const args of [
      ["dlq", "discard", "--reason", "x"],
      ["dlq", "purge", "--older-than", "0s"],
    ]) {
      const { code, stderr } = await asPerson(args, { home: shop.home, env: shop.env, answers: ["\u0003"] });
      expect([args, code, stderr]).toEqual([args, 130, expect.stringContaining("Cancelled.")]);
    }
    expect(await shop.letters()).toHaveLength(2);
  });

  it.skipIf(NOT_LINUX)("of 40 columns is enough for every table", async () => {
    const shop = openWorkshop();
    await letters(shop, "a", "b");
    await shop.run(["dlq", "discard", "a", "--reason", "x"]);
    for (const command of ["dlq list", "dlq stats", "ops list"]) {
      const lines = onNarrowTerminal(shop, command).split("\n");
      expect([command, lines.filter((line) => line.length > 40)]).toEqual([command, []]);
    }
  });
});

/** What a person sees on one of 40 columns. */
function onNarrowTerminal(shop: Workshop, command: string): string {
  const line = `stty cols 40; ${CLI} ${command}`;
  return execFileSync("script", ["-qec", line, "/dev/null"], {
    cwd: shop.home,
    env: { ...shop.env, NO_COLOR: "1" },
    encoding: "utf8",
  }).replaceAll("\r", "");
}

describe("special files", () => {
  it("a pipe that is named for an export, an analysis or a capsule is written into, and stays a pipe", async () => {
    const shop = openWorkshop();
    await letters(shop, "a");
    const pipe = shop.path("pipe");
    execFileSync("mkfifo", [pipe]);
    for (const [args, read] of [
      [["dlq", "export", pipe, "--format", "jsonl"], "cat"],
      [["dlq", "analyze", "--export", pipe], "cat"],
      [["dlq", "capsule", "a", "-o", pipe], "gunzip"],
    ] as const) {
      const reader = shop.start(
        ["map", "--quiet", "--", "sh", "-c", `${read} < ${pipe} > ${shop.path("got")}`],
        {
          stdin: "one\n",
          env: { REDRIVE_STORE: `sqlite:${shop.path("other.db")}` },
        },
      );
      const { code, stderr } = await shop.run(args);
      expect([args, code, stderr]).toEqual([args, 0, expect.not.stringContaining("redrive:")]);
      await reader.ended;
      expect(lstatSync(pipe).isFIFO()).toBe(true);
      expect(JSON.parse(shop.read("got"))).toBeTypeOf("object");
    }
  });

  it.skipIf(NOT_LINUX)("a full stdout is reported in a line, and is no success", async () => {
    const shop = openWorkshop();
    await letters(shop, "a");
    for (const command of ["dlq list --json", "dlq export -", "jobs"]) {
      const { env } = shop;
      const { status, stderr } = spawnSync(
        "sh",
        ["-c", `"$0" "$1" ${command} > /dev/full`, process.execPath, CLI_PATH],
        {
          env,
          cwd: shop.home,
          encoding: "utf8",
        },
      );
      expect([command, status]).toEqual([command, 1]);
      expect(stderr).toMatch(/redrive: stdout cannot be written: ENOSPC/);
      expect(stderr).not.toContain("    at ");
    }
    expect(existsSync("/dev/full")).toBe(true);
  });
});
