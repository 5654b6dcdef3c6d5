/** Finds and shows letters: every option that selects, every output, and what is never changed. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CLI_PATH } from "../support/cli.ts";
import { makeReadOnly, NO_MOUNTS } from "../support/mounts.ts";
import { openProject } from "./project.ts";
import {
  type ErrorJson,
  type LetterJson,
  type LetterPageJson,
  ON_POSTGRES,
  openWorkshop,
  SOUND,
  type Summary,
  upTo,
  type Workshop,
} from "./workshop.ts";

const ids = (letters: readonly LetterJson[]) => letters.map((letter) => letter.item_id);

/**
 * Items whose size is a multiple of 3 fail to parse, those of 5 fail to connect; every attempt is in the ledger.
 */
const SCRIPT =
  'echo "$REDRIVE_ITEM_ID" >> $L; n=$REDRIVE_ITEM_ID; ' +
  'if [ $((n % 3)) = 0 ]; then echo "Parse error near line $n" >&2; exit 4; fi; ' +
  'if [ $((n % 5)) = 0 ]; then echo "cannot connect to 10.0.0.$n" >&2; exit 7; fi';

/** 7 letters of two failures, with one attempt each but for the retried ones: 3, 6, 9, 12, 15 parse, 5, 10 connect. */
async function orders(shop: Workshop, name = "orders"): Promise<Summary> {
  const items = upTo(15).map((n) => ({ id: `${n}`, size: n, tags: n > 9 ? ["large"] : [] }));
  return shop.mapJson(items, SCRIPT, ["--name", name, "--id-field", "id", "--retries", "0", "-j", "1"]);
}

describe("letters are found", () => {
  it("by group, state, attempts, text, queue and expression, alone and together", async () => {
    const shop = openWorkshop();
    const { job_id, groups } = await orders(shop);
    const [parse, connect] = groups.map(({ signature }) => signature);
    expect(ids(await shop.letters("--group", connect ?? ""))).toEqual(["10", "5"]);
    expect(await shop.letters("--group", `${parse},${connect}`)).toHaveLength(7);
    expect(await shop.letters("--group", `${parse}`, "--group", `${connect}`)).toHaveLength(7);
    expect(ids(await shop.letters("--search", "CANNOT CONNECT"))).toEqual(["10", "5"]);
    expect(await shop.letters("--queue", job_id)).toHaveLength(7);
    expect(ids(await shop.letters("--filter", "item.size > 9 && failure.exit_code == 4"))).toEqual([
      "15",
      "12",
    ]);
    expect(ids(await shop.letters("--filter", "'large' in item.tags", "--search", "connect"))).toEqual([
      "10",
    ]);
    expect(
      ids(await shop.letters("--filter", "letter.error_pattern.contains('Parse')", "--older-than", "0ms")),
    ).toHaveLength(5);
    await shop.run(["dlq", "retry", "orders", "3", "6", "--yes", "--quiet"]);
    expect(ids(await shop.letters("--attempts", "2"))).toEqual(["6", "3"]);
    expect(ids(await shop.letters("--attempts", "2.."))).toEqual(["6", "3"]);
    expect(await shop.letters("--attempts", "..1")).toHaveLength(5);
    expect(await shop.letters("--attempts", "1..2")).toHaveLength(7);
    await shop.run(["dlq", "discard", "3", "--reason", "known", "--yes"]);
    expect(ids(await shop.letters("--state", "discarded"))).toEqual(["3"]);
    expect(await shop.letters()).toHaveLength(6);
    expect(await shop.letters("--state", "all")).toHaveLength(7);
    expect(ids(await shop.letters("--state", "dead,discarded", "--attempts", "2"))).toEqual(["6", "3"]);
  });

  it("as resolved when their work has succeeded, with the resolution", async () => {
    const shop = openWorkshop();
    await shop.map([{ id: "a" }], "test -e ready", ["--id-field", "id", "--retries", "0"]);
    shop.write("ready", "");
    await shop.run(["dlq", "retry", "a", "--yes", "--quiet"]);
    expect(await shop.letters()).toEqual([]);
    const [letter] = await shop.letters("--state", "resolved");
    expect(letter).toMatchObject({ item_id: "a", state: "done", resolution: { kind: "requeue" } });
    const { stdout } = await shop.run(["dlq", "inspect", "a"]);
    expect(stdout).toContain("a (resolved)");
    expect(stdout).toMatch(/sent again by .* \(operation op-\w+\)\n.*#2 .* succeeded/);
  });

  it("in the requested order", async () => {
    const shop = openWorkshop();
    await orders(shop);
    const sorted = async (order: string) => ids(await shop.letters("--sort", order));
    expect(await sorted("oldest")).toEqual(["3", "5", "6", "9", "10", "12", "15"]);
    expect(await sorted("newest")).toEqual(["15", "12", "10", "9", "6", "5", "3"]);
    expect(await sorted("item")).toEqual(["10", "12", "15", "3", "5", "6", "9"]);
    await shop.run(["dlq", "retry", "orders", "9", "--yes", "--quiet"]);
    expect((await sorted("attempts"))[0]).toBe("9");
    expect((await shop.run(["dlq", "list", "--sort", "size"])).code).toBe(2);
  });

  it("page by page: the total is exact, and the printed command shows the next page", async () => {
    const shop = openWorkshop();
    await orders(shop);
    const filter = ["--filter", "item.size > 4"];
    const first = await shop.json<LetterPageJson>("dlq", "list", "--limit", "4", ...filter);
    expect([ids(first.items), first.total]).toEqual([["15", "12", "10", "9"], 6]);
    const second = await shop.json<LetterPageJson>("dlq", "list", ...filter, "--cursor", first.next ?? "");
    expect([ids(second.items), second.total, second.next]).toEqual([["6", "5"], 6, null]);
    const { stdout } = await shop.run([
      "dlq",
      "list",
      "--limit",
      "4",
      "--columns",
      "item,message",
      ...filter,
    ]);
    expect(stdout).toContain("4 of 6 letters");
    const next = shellOf(shop, stdout.split("Next page: ")[1] ?? "");
    expect(next.split("\n").map((line) => line.split(" ")[0])).toEqual(["ITEM", "6", "5", "2", ""]);
  });
});

/** What a person gets who pastes the line into a shell. */
function shellOf(shop: Workshop, command: string): string {
  mkdirSync(shop.path("bin"), { recursive: true });
  chmodSync(shop.write("bin/redrive", `#!/bin/sh\nexec '${process.execPath}' '${CLI_PATH}' "$@"\n`), 0o755);
  const env = { ...shop.env, PATH: `${shop.path("bin")}:${process.env.PATH}` };
  return execFileSync("sh", ["-c", command], { cwd: shop.home, env, encoding: "utf8" });
}

describe("the output of a letter", () => {
  it("has the requested columns; an unknown one is an error that lists them", async () => {
    const shop = openWorkshop();
    await orders(shop);
    const { stdout } = await shop.run(["dlq", "list", "--columns", "group,exit,item", "--limit", "1"]);
    expect(stdout).toMatch(/^GROUP {13}EXIT {2}ITEM\n[0-9a-f]{16} {5}4 {2}15\n/);
    const all = await shop.run(["dlq", "list", "--columns", "all"]);
    for (const title of ["ITEM", "STATE", "TRIES", "CLASS", "STEP", "REDRIVES", "REASON", "DATA", "AGE"]) {
      expect(all.stdout.split("\n")[0]).toContain(title);
    }
    const wrong = await shop.run(["dlq", "list", "--columns", "item,mesage"]);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('unknown column "mesage"; did you mean message?');
    expect(wrong.stderr).toContain("item, job, state, attempts, died, type, class, group");
  });

  it("pitfall 24: names the failed step, the log and the worktree", async () => {
    const project = openProject({ "items.json": '[{"id":"a"}]' });
    await project.runJson({
      map: {
        ...{ input: "items.json", json_path: "$[*]", id_field: "id" },
        agent_template: [{ shell: "echo one" }, { shell: "echo half > out.txt; exit 9" }],
      },
      error_policy: { retry_config: { max_attempts: 1 } },
    });
    const [letter] = (await project.json<LetterPageJson>("dlq", "list")).items;
    const inspected = await project.json<LetterJson & { worktree_artifacts: { worktree_path: string } }>(
      ...["dlq", "inspect", "a"],
    );
    const [failure] = inspected.failure_history;
    const { stdout } = await project.run(["dlq", "inspect", "a"]);
    expect(failure?.step_failed).toContain("echo half > out.txt");
    for (const place of [failure?.log, inspected.worktree_artifacts.worktree_path, failure?.step_failed]) {
      expect(stdout).toContain(place);
    }
    expect(ids([letter as LetterJson])).toEqual(["a"]);
  });

  it("is a whole life in order: attempts, a note, an edit, a redrive, what changed, events, the group", async () => {
    const shop = openWorkshop();
    const env = { REDRIVE_AUTHOR: "ada" };
    const script =
      'if [ -e later ]; then echo "other trouble" >&2; exit 8; fi; echo "first trouble" >&2; exit 3';
    const flags = ["--id-field", "id", "--retries", "0", "--name", "life"];
    await shop.map(
      [
        { id: "a", n: 1 },
        { id: "b", n: 1 },
      ],
      script,
      flags,
    );
    const noted = await shop.run(["dlq", "note", "a", "seen before", "--json"], { env });
    expect(noted.json<{ notes: unknown[] }>().notes).toMatchObject([{ author: "ada", text: "seen before" }]);
    await shop.run(["dlq", "edit", "a", "--set", "n=item.n + 1", "--yes"], { env });
    shop.write("later", "");
    await shop.run(["dlq", "retry", "a", "--yes", "--quiet"], { env });
    const { stdout } = await shop.run(["dlq", "inspect", "a"]);
    const places = ["#1  ", "note by ada", "changed by ada (revision 2)", "sent again by ada", "#2  "];
    expect(places.map((place) => stdout.indexOf(place)).every((at) => at > 0)).toBe(true);
    expect(places.map((place) => stdout.indexOf(place))).toEqual(
      places.map((place) => stdout.indexOf(place)).sort((one, other) => one - other),
    );
    expect(stdout).toContain("- n: 1");
    expect(stdout).toContain("+ n: 2");
    expect(stdout).toContain("exit code: 3 → 8");
    expect(stdout).toContain("+ other trouble");
    const json = await shop.json<{ group_count: number; events: { type: string }[] }>("dlq", "inspect", "a");
    expect(json.group_count).toBe(1);
    expect(json.events.map(({ type }) => type)).toContain("dlq_item_amended");
    expect(json.events.slice(-2).map(({ type }) => type)).toEqual(["dlq_item_added", "group_opened"]);
  });
});

describe("pitfall 17: an invalid selection", () => {
  const WRONG = [
    ["--filter", "item.size >"],
    ["--filter", "itm.size > 3"],
    ["--filter", "letter.failure_cuont > 0"],
    ["--filter", "item.size"],
    ["--filter", ""],
    ["--type", "Nonsense"],
    ["--class", "perm"],
    ["--state", "gone"],
    ["--attempts", "5..2"],
    ["--attempts", "few"],
    ["--group", "abc"],
    ["--older-than", "yesterday"],
    ["--search", ""],
  ] as const;
  /** The same function reads the other options; a few of each type are enough for every command. */
  const EVERYWHERE = new Set<string>(["--type", "--attempts"]);
  const COMMANDS = [
    ["dlq", "list"],
    ["dlq", "analyze"],
    ["dlq", "retry", "orders", "--yes", "--quiet"],
    ["dlq", "edit", "--job", "orders", "--set", "size=1", "--yes"],
    ["dlq", "discard", "--job", "orders", "--reason", "x", "--yes"],
  ] as const;

  it.each(COMMANDS.map((command) => [command.slice(0, 2).join(" "), command] as const))(
    "is an error of %s and touches nothing",
    async (_, command) => {
      const shop = openWorkshop();
      await orders(shop);
      const before = await shop.letters();
      const ledger = shop.ledger;
      const every = command.join(" ") === "dlq list";
      for (const words of every
        ? WRONG
        : WRONG.filter(([flag], index) => index < 3 || EVERYWHERE.has(flag))) {
        const { code, stderr } = await shop.run([...command, ...words]);
        expect([code, words, stderr]).toEqual([2, words, expect.stringContaining("redrive: ")]);
      }
      expect(await shop.letters()).toEqual(before);
      expect(shop.ledger).toEqual(ledger);
      expect(
        await shop.events("--type", "dlq_items_reprocessed,dlq_item_amended,dlq_items_discarded"),
      ).toEqual([]);
    },
  );

  it("an expression that cannot be evaluated for a letter names the letter and a guard", async () => {
    const shop = openWorkshop();
    await orders(shop);
    const { code, stderr } = await shop.run(["dlq", "retry", "orders", "--filter", "item.gone > 1", "--yes"]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/for \w+ of orders-.*"gone"[\s\S]*has\(item/)]);
    expect(shop.ledger).toHaveLength(15);
    expect(await shop.letters()).toHaveLength(7);
  });
});

describe("the job of a command", () => {
  it("is the only one with letters; of several the error lists them", async () => {
    const shop = openWorkshop();
    const one = await orders(shop);
    expect((await shop.json<{ job_id: string }>("dlq", "retry", "--dry-run")).job_id).toBe(one.job_id);
    const two = await orders(shop, "others");
    const { code, stderr } = await shop.run(["dlq", "retry", "--dry-run"]);
    expect(code).toBe(2);
    expect(stderr).toContain("2 jobs have letters");
    for (const { job_id } of [one, two]) expect(stderr).toContain(`${job_id} (7)`);
    const answer = await shop.run(["dlq", "list", "--queue", "nobody", "--json"]);
    expect([answer.code, answer.json<ErrorJson>().error.code]).toEqual([4, "job_not_found"]);
  });
});

describe("pitfall 56: all that is selected", () => {
  it("is all of it, not the page that was shown", async () => {
    const shop = openWorkshop();
    const flags = ["--name", "many", "--retries", "0"];
    const { job_id } = await shop.mapJson(upTo(57), "exit 1", flags);
    expect((await shop.json<LetterPageJson>("dlq", "list", "--limit", "5")).items).toHaveLength(5);
    const discarded = await shop.json<{ selected: number; done: number }>(
      ...["dlq", "discard", "--job", job_id, "--reason", "x", "--yes"],
    );
    expect(discarded).toMatchObject({ selected: 57, done: 57 });
    const restored = await shop.json("dlq", "restore", "--job", job_id, "--filter", "true", "--yes");
    expect(restored).toMatchObject({ selected: 57, done: 57 });
    expect(await shop.check()).toBe(SOUND);
  });
});

describe("dlq analyze", () => {
  it("reports groups, types and times as one JSON document, in the file too, and writes an event", async () => {
    const shop = openWorkshop();
    const { job_id } = await orders(shop);
    const { stdout, code } = await shop.run(["dlq", "analyze", "orders", "--json", "--export", "why.json"]);
    const analysis = JSON.parse(stdout) as Record<string, unknown>;
    expect([code, JSON.parse(shop.read("why.json"))]).toEqual([0, analysis]);
    expect(analysis).toMatchObject({
      total_items: 7,
      pattern_groups: [
        { count: 5, pattern: expect.stringContaining("Parse error"), sample_items: { length: 3 } },
        { count: 2, pattern: expect.stringContaining("cannot connect"), sample_items: { length: 2 } },
      ],
      error_distribution: { CommandFailed: 7 },
    });
    const times = analysis.temporal_distribution as readonly (readonly [string, number])[];
    expect(times.reduce((sum, [, count]) => sum + count, 0)).toBe(7);
    expect(await shop.events("--type", "dlq_analysis_generated")).toMatchObject([
      { job_id, data: { total_items: 7, groups: 2 } },
    ]);
  });

  it("of a part counts that part only, and of everything is no job's event", async () => {
    const shop = openWorkshop();
    await orders(shop);
    await orders(shop, "others");
    const total = async (...flags: string[]) =>
      (await shop.json<{ total_items: number }>("dlq", "analyze", ...flags)).total_items;
    expect(await total()).toBe(14);
    expect(await total("--search", "cannot connect")).toBe(4);
    expect(await total("--filter", "item.size == 3", "--type", "CommandFailed")).toBe(2);
    expect(await total("--type", "Timeout")).toBe(0);
    expect(await shop.events("--type", "dlq_analysis_generated")).toEqual([]);
  });

  it("is a summary with bars for people, in plain characters where the terminal has no others", async () => {
    const shop = openWorkshop();
    await orders(shop);
    const plain = await shop.run(["dlq", "analyze"], { env: { LANG: "C" } });
    expect(plain.stdout).toMatch(/^7 letters in 2 groups\n/);
    expect(plain.stdout).toMatch(/CommandFailed {2}7 {2}#{40}\n/);
    const { stdout } = await shop.run(["dlq", "analyze"], { env: { LANG: "C.UTF-8" } });
    expect(stdout).toMatch(/CommandFailed {2}7 {2}█{40}\n/);
    expect(stdout).toMatch(/5 {2}71 % {2}.*Parse error/);
  });

  it("a file that cannot be written is an error", async () => {
    const shop = openWorkshop();
    await orders(shop);
    const { code, stderr } = await shop.run(["dlq", "analyze", "--export", "no/such/folder.json"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("cannot be written")]);
  });

  it.skipIf(NO_MOUNTS || ON_POSTGRES)("works on a store that cannot be written", async () => {
    const shop = openWorkshop();
    await orders(shop);
    makeReadOnly(shop.path("redrive"));
    const { code, stderr, stdout } = await shop.run(["dlq", "analyze", "orders", "--json"]);
    expect([code, JSON.parse(stdout).total_items]).toEqual([0, 7]);
    expect(stderr).toContain("not recorded as an event");
  });
});

describe("dlq stats", () => {
  it("counts waiting letters, outcomes of the others, and the used capacity of a job", async () => {
    const shop = openWorkshop();
    await orders(shop);
    await shop.run(["dlq", "discard", "3", "--reason", "x", "--yes"]);
    await shop.run(["dlq", "retry", "orders", "6", "--yes", "--quiet"]);
    shop.write("redrive.yml", "dlq:\n  max_items: 8\n");
    type Stats = { jobs: Record<string, unknown>[]; total: Record<string, unknown> };
    const { jobs, total } = await shop.json<Stats>("dlq", "stats");
    expect(jobs).toMatchObject([
      {
        ...{ size: 6, discarded: 1, resolved: 0, purged: 0, evicted: 0, on_their_way: 0 },
        ...{ redrives_failed: 1, redrive_success_rate: 0, arrived_last_hour: 8 },
        ...{ max_items: 8, capacity_used_percent: 75, oldest_age_seconds: expect.any(Number) },
      },
    ]);
    expect(total).toMatchObject({ size: 6, discarded: 1 });
    const { stdout } = await shop.run(["dlq", "stats", "orders"]);
    expect(stdout).toContain("6 letters");
    expect(stdout).toContain("75 % of 8 used");
    const summary = await shop.json<{ discarded: number; dlq: object }>("status", "orders");
    expect(summary).toMatchObject({ discarded: 1, dlq: { size: 6, discarded: 1 } });
  });

  it("reports that there is nothing, and refuses an unknown job", async () => {
    const shop = openWorkshop();
    await shop.map([1], "true", ["--name", "fine"]);
    const stats = await shop.run(["dlq", "stats"]);
    expect(stats.code).toBe(0);
    expect(stats.stdout).toMatch(/^No .*letters.*\n$/);
    expect((await shop.run(["dlq", "stats", "nobody"])).code).toBe(4);
  });
});

describe("pitfall 31: --json", () => {
  it("is one document on stdout, whatever happens", async () => {
    const shop = openWorkshop();
    await orders(shop);
    for (const args of [
      ["dlq", "list"],
      ["dlq", "list", "--filter", "item.size > 3"],
      ["dlq", "list", "--filter", "nonsense("],
      ["dlq", "inspect", "3"],
      ["dlq", "inspect", "nobody"],
      ["dlq", "show", "orders"],
      ["dlq", "show", "3"],
      ["dlq", "analyze", "orders"],
      ["dlq", "stats"],
      ["dlq", "note", "3", "hello"],
      ["dlq", "note", "3", ""],
    ]) {
      const { stdout } = await shop.run([...args, "--json"]);
      expect(() => JSON.parse(stdout), args.join(" ")).not.toThrow();
    }
  });
});
