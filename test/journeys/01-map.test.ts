/** Map: inputs of every form are read, a command runs for each item, and a script can read the results. */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { asJsonLines, openWorkshop, type Summary, upTo } from "./workshop.ts";

const NASTY = [
  `it's "quoted"`,
  "$(touch pwned)",
  "`touch pwned`",
  "a b  c",
  "two\nlines",
  "; touch pwned",
  "*",
  "-n",
];

describe("input", () => {
  it.each([
    ["a JSON array", "files.json", '[{"path":"a b.md"},{"path":"c.md"}]'],
    ["JSON Lines", "files.jsonl", '{"path":"a b.md"}\n{"path":"c.md"}\n'],
    ["CSV", "files.csv", 'path,size\r\n"a b.md",1\r\nc.md,2\r\n'],
  ])("%s becomes items whose fields fill the arguments", async (_, name, content) => {
    const shop = openWorkshop();
    shop.write(name, content);
    const { code, stdout } = await shop.run([
      "map",
      "-i",
      name,
      "-j",
      "1",
      "--",
      "printf",
      "<%s>",
      "${item.path}",
    ]);
    expect(code).toBe(0);
    expect(stdout).toBe("<a b.md><c.md>");
  });

  it("lines of a text file are items", async () => {
    const shop = openWorkshop();
    shop.write("list.txt", "a b\n  c\n");
    const { stdout } = await shop.run([
      "map",
      "--input",
      "list.txt",
      "-j",
      "1",
      "--",
      "printf",
      "<%s>",
      "${item}",
    ]);
    expect(stdout).toBe("<a b><  c>");
  });

  it.each([
    ["lines", "one\ntwo\n", "<one><two>"],
    ["NUL-separated names", "one\ntwo\0three\0", "<one\ntwo><three>"],
    ["JSON Lines", '{"item":1}\n{"item":2}\n', '<{"item":1}><{"item":2}>'],
    ["a JSON array", "[1, [2, 3]]", "<1><[2,3]>"],
  ])("stdin is read as %s by what it begins with", async (_, stdin, expected) => {
    const { code, stdout } = await openWorkshop().run(["map", "-j", "1", "--", "printf", "<%s>", "{}"], {
      stdin,
    });
    expect([code, stdout]).toEqual([0, expected]);
  });

  it("--format overrides the extension and the content", async () => {
    const shop = openWorkshop();
    shop.write("list.json", "[1,2]\n[3,4]\n");
    const run = async (format: string) =>
      (await shop.run(["map", "-i", "list.json", "-f", format, "-j", "1", "--", "printf", "<%s>", "{}"]))
        .stdout;
    expect(await run("lines")).toBe("<[1,2]><[3,4]>");
    expect(await run("null")).toBe("<[1,2]\n[3,4]\n>");
    expect(await run("csv")).toBe('<{"[1":"[3","2]":"4]"}>');
    shop.write("list.json", "1,2");
    expect(await run("lines")).toBe("<1,2>");
    expect((await shop.run(["map", "-i", "list.json", "-f", "json", "--", "true"])).code).toBe(2);
  });

  it("an empty input is no work, and no failure", async () => {
    const { code, stdout, stderr } = await openWorkshop().run(["map", "--", "touch", "${item}"]);
    expect([code, stdout]).toEqual([0, ""]);
    expect(stderr).toContain("Nothing to do: the input has no items.");
  });
});

describe("item data", () => {
  it("reaches the command as one argument, and is never read by a shell", async () => {
    const shop = openWorkshop();
    const { code, stdout } = await shop.run(
      ["map", "-j", "1", "--format", "jsonl", "--", "printf", "--", "%s\\0", "${item}"],
      {
        stdin: asJsonLines(NASTY),
      },
    );
    expect(code).toBe(0);
    expect(stdout.split("\0").slice(0, -1)).toEqual(NASTY);
    expect(existsSync(shop.path("pwned"))).toBe(false);
  });

  it("that looks like a variable is not filled in a second time", async () => {
    const { stdout } = await openWorkshop().run(
      ["map", "--format", "lines", "--", "printf", "%s", "${item}"],
      {
        stdin: "${item_id} {} $${item}\n",
      },
    );
    expect(stdout).toBe("${item_id} {} $${item}");
  });

  it("is on stdin and in the environment, with the names of item, attempt and job", async () => {
    const shop = openWorkshop();
    const script =
      'printf "%s|%s|%s|%s|" "$REDRIVE_ITEM" "$REDRIVE_ITEM_ID" "$REDRIVE_ATTEMPT" "$REDRIVE_JOB_ID"; cat';
    const result = await shop.run(
      ["map", "--format", "jsonl", "--id-field", "n", "--name", "envs", "--", "sh", "-c", script],
      { stdin: '{"n":"one","quote":"\'"}\n' },
    );
    const [item, id, attempt, job, stdin] = result.stdout.split("|");
    expect(JSON.parse(item ?? "")).toEqual({ n: "one", quote: "'" });
    expect([id, attempt]).toEqual(["one", "1"]);
    expect(job).toMatch(/^envs-[a-z0-9]{8}$/);
    expect(stdin).toBe(`${item}\n`);
  });

  it("that lacks a field of the command fails only that item, at once, and names the field", async () => {
    const shop = openWorkshop();
    const { code } = await shop.run(
      ["map", "--format", "jsonl", "--retries", "5", "--", "echo", "${item.path}"],
      {
        stdin: asJsonLines([{ path: "a" }, { file: "b" }]),
      },
    );
    expect(code).toBe(3);
    const [letter] = await shop.letters();
    expect(letter?.item_data).toEqual({ file: "b" });
    expect(letter?.failure_count).toBe(1);
    expect(letter?.failure_history[0]).toMatchObject({
      error_type: "ValidationFailed",
      error_class: "permanent",
    });
    expect(letter?.failure_history[0]?.error_message).toContain("${item.path}");
  });

  it("a default fills what an item lacks", async () => {
    const { stdout } = await openWorkshop().run(
      ["map", "--format", "jsonl", "-j", "1", "--", "printf", "<%s>", "${item.path:-none}"],
      { stdin: asJsonLines([{ path: "a" }, {}]) },
    );
    expect(stdout).toBe("<a><none>");
  });
});

describe("stdout", () => {
  it("has each command's complete output and nothing else; failed attempts print nothing there", async () => {
    const shop = openWorkshop();
    const script = 'for i in 1 2 3 4 5 6 7 8; do echo "$1:$i"; done; [ $1 != 5 ]';
    const { code, stdout, stderr } = await shop.map(upTo(9), script, ["--jobs", "4", "--retries", "0"]);
    expect(code).toBe(3);
    const blocks = upTo(9)
      .filter((item) => item !== 5)
      .map((item) =>
        upTo(8)
          .map((line) => `${item}:${line}\n`)
          .join(""),
      );
    for (const block of blocks) expect(stdout).toContain(block);
    expect(stdout.length).toBe(blocks.join("").length);
    expect(stderr).toContain("8 of 9 succeeded · 1 dead");
    expect(stderr).toContain("redrive dlq list --job");
  });

  it("has output that is too large for memory too", async () => {
    const { stdoutBytes } = await openWorkshop().map([1], "head -c 3000000 /dev/zero | tr '\\0' x");
    expect(stdoutBytes.equals(Buffer.alloc(3_000_000, "x"))).toBe(true);
  });

  it("does not repeat the output of a failed attempt before a success", async () => {
    const script = 'echo "try $REDRIVE_ATTEMPT"; [ "$REDRIVE_ATTEMPT" = 2 ]';
    const { code, stdout } = await openWorkshop().map([1], script, ["--backoff", "none"]);
    expect([code, stdout]).toEqual([0, "try 2\n"]);
  });

  it("--quiet leaves only the summary", async () => {
    const shop = openWorkshop();
    const { stdout, stderr } = await shop.map([1, 2], "echo noise; echo more >&2", ["--quiet"]);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^2 of 2 succeeded · [^\n]+\n$/);
  });

  it("--json is one document with the fields that scripts rely on", async () => {
    const shop = openWorkshop();
    const result = await shop.map(upTo(5), 'echo noise; [ $1 != 3 ] || { echo "no $1" >&2; exit 9; }', [
      "--json",
      "--retries",
      "1",
      "--backoff",
      "none",
      "--name",
      "five",
    ]);
    expect(result.code).toBe(3);
    const summary = result.json<Summary>();
    expect(summary).toMatchObject({ name: "five", status: "completed", total: 5, succeeded: 4, dead: 1 });
    expect(summary).toMatchObject({ skipped: 0, remaining: 0, attempts: 6 });
    expect(summary.job_id).toMatch(/^five-/);
    expect(summary.duration_ms).toBeGreaterThan(0);
    expect(summary.groups).toEqual([
      {
        signature: expect.stringMatching(/^[0-9a-f]{16}$/),
        title: "no <num>",
        location: "sh · exit 9",
        pattern: expect.stringContaining("CommandFailed::"),
        count: 1,
      },
    ]);
  });
});

describe("exit codes", () => {
  it("0: everything was done", async () => {
    expect((await openWorkshop().map(upTo(3), "true")).code).toBe(0);
  });

  it("3: letters were left, even when every item failed", async () => {
    const shop = openWorkshop();
    const { code, stderr } = await shop.map(upTo(3), "false", ["--retries", "0"]);
    expect(code).toBe(3);
    expect(stderr).toContain("0 of 3 succeeded · 3 dead");
    expect(stderr).toContain("All with the same failure:");
  });

  it("1: the job was stopped, with the reason and the command that resumes it", async () => {
    const { code, stderr } = await openWorkshop().map(upTo(3), "false", [
      "--retries",
      "0",
      "--fail-fast",
      "-j",
      "1",
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain(
      "Stopped: an item died, and the job stops at the first death (--fail-fast, continue_on_failure).",
    );
    expect(stderr).toContain("redrive resume sh-");
  });

  it.each([
    ["an option that does not exist", ["map", "--job", "3", "--", "true"], /Unknown option '--job'/],
    ["a number that is none", ["map", "--jobs", "many", "--", "true"], /--concurrency: "many"/],
    ["no parallelism at all", ["map", "--jobs", "0", "--", "true"], /--concurrency: "0"/],
    [
      "a negative count of retries",
      ["map", "--retries", "-1", "--", "true"],
      /--retries: "-1" is not a whole number/,
    ],
    [
      "a duration that is none",
      ["map", "--timeout", "soon", "--", "true"],
      /--timeout: "soon" is not a duration/,
    ],
    ["a rate above 1", ["map", "--failure-threshold", "1.5", "--", "true"], /is not a number from 0 to 1/],
    ["a backoff that is none", ["map", "--backoff", "slowly", "--", "true"], /unknown backoff "slowly"/],
    [
      "an action that is none",
      ["map", "--on-failure", "explode", "--", "true"],
      /Allowed choices are dlq, retry, skip, stop/,
    ],
    ["a format that is none", ["map", "--format", "xml", "--", "true"], /Allowed choices are json, jsonl/],
    ["no command", ["map"], /Missing required argument 'command'/],
    ["an unknown variable", ["map", "--", "echo", "${itm.path}"], /itm/],
    ["an input that does not exist", ["map", "-i", "none.json", "--", "true"], /none\.json" does not exist/],
    ["a folder as input", ["map", "-i", ".", "--", "true"], /is a directory/],
    ["a store URL that is none", ["jobs", "--store", "redis:x"], /"redis:x" is not a store URL/],
    ["a command of ours that does not exist", ["mpa"], /Unknown command "mpa"/],
    ["a filter that is none", ["dlq", "list", "--type", "Nonsense"], /--type: .*Nonsense/],
    ["a class that is none", ["dlq", "list", "--class", "bad"], /--class: .*bad/],
    ["a signature that is none", ["dlq", "list", "--group", "xyz"], /--group: .*"xyz"/],
    ["an event type that is none", ["events", "--type", "nothing"], /--type: .*nothing/],
  ])("2: %s", async (_, args, message) => {
    const { code, stdout, stderr } = await openWorkshop().run(args);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^redrive: /);
    expect(stderr).toMatch(message);
  });

  it.each([
    ["a job", ["status", "nobody"], "There is no job nobody."],
    ["a job to resume", ["resume", "nobody"], "There is no job nobody."],
    ["anything to resume", ["resume"], "There is no interrupted job in this folder."],
    ["an item", ["dlq", "inspect", "nobody"], "There is no item nobody."],
    ["an operation", ["ops", "show", "nobody"], "There is no operation nobody."],
  ])("4: there is not %s", async (_, args, message) => {
    const { code, stderr } = await openWorkshop().run(args);
    expect(code).toBe(4);
    expect(stderr).toContain(message);
  });

  it("5: another command under the name of an old job is refused, and nothing runs", async () => {
    const shop = openWorkshop();
    await shop.map([1], "true", ["--name", "mine"]);
    const { code, stderr } = await shop.map([2], 'echo "$1" >> $L', ["--name", "mine"]);
    expect(code).toBe(5);
    expect(stderr).toContain("The job mine runs another command: sh -c");
    expect(stderr).toContain("--accept-changes");
    expect(shop.ledger).toEqual([]);
  });

  it("with --json an error is one document too, with its code, message and hint", async () => {
    const { code, stdout } = await openWorkshop().run(["status", "nobody", "--json"]);
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: "job_not_found",
        message: expect.stringContaining("nobody"),
        hint: expect.stringContaining("`redrive jobs`"),
      },
    });
  });

  it("a --json after -- belongs to the user's command", async () => {
    const { stdout, stderr } = await openWorkshop().run(["map", "-i", "none", "--", "tool", "--json"]);
    expect(stdout).toBe("");
    expect(stderr).toContain("redrive: ");
  });
});
