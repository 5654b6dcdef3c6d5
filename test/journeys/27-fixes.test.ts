/** Fixes of redrive.yml: letters that match a rule are corrected and retried, by hand or by the job itself. */
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  type EventJson,
  type LetterJson,
  openWorkshop,
  SOUND,
  type Summary,
  type Workshop,
} from "./workshop.ts";

type FixJson = {
  readonly operation_id: string | null;
  readonly selected: number;
  readonly changed: number;
  readonly refused: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly remaining: number;
  readonly fixes: readonly {
    readonly rule: string;
    readonly selected: number;
    readonly changed: number;
    readonly refused: number;
    readonly succeeded: number;
    readonly failed: number;
    readonly refusals: readonly { readonly reason: string; readonly count: number }[];
  }[];
};

type Resolved = LetterJson & {
  readonly revision: number;
  readonly resolution?: { readonly kind: string };
  readonly amendments?: readonly { readonly rule?: string; readonly before: unknown }[];
};

/** Works with https only; what it got is in the ledger. */
const NEEDS_HTTPS = 'echo "$1" >> $L; case "$1" in *https:*) ;; *) echo "plain http" >&2; exit 1;; esac';
const ITEMS = [1, 2, 3].map((n) => ({ id: `i${n}`, url: `http://host/${n}` }));
const FLAGS = ["--id-field", "id", "--retries", "0"];

const HTTPS = `
fixes:
  - name: https
    match: { type: CommandFailed, filter: 'item.url.startsWith("http:")' }
    set: { url: 'item.url.replace("http:", "https:")' }
`;

const mapped = (workshop: Workshop, script = NEEDS_HTTPS) => workshop.mapJson(ITEMS, script, FLAGS);
const resolved = async (workshop: Workshop) =>
  (await workshop.letters("--state", "resolved")) as readonly Resolved[];
const uses = async (workshop: Workshop): Promise<readonly EventJson[]> =>
  workshop.events("--type", "dlq_rule_applied");

describe("by hand", () => {
  test("a dry run shows each match with its change, and changes nothing", async () => {
    const workshop = openWorkshop();
    workshop.write("redrive.yml", HTTPS);
    const { job_id } = await mapped(workshop);
    const before = await workshop.events();
    const { code, stdout } = await workshop.run(["dlq", "fix", "--dry-run"]);
    expect(code).toBe(0);
    expect(stdout).toContain('i1  https\n  ~ url: "http://host/1" → "https://host/1"\n');
    expect(stdout).toMatch(new RegExp(`Would change 3 letters of ${job_id} and retry them.\n$`));
    const json = await workshop.json<FixJson>("dlq", "fix", job_id, "--dry-run");
    expect(json).toMatchObject({ operation_id: null, dry_run: true, selected: 3, changed: 3, refused: 0 });
    expect(json).toMatchObject({
      matches: expect.arrayContaining([
        {
          item_id: "i2",
          rule: "https",
          changes: [{ path: "url", before: "http://host/2", after: "https://host/2" }],
        },
      ]),
    });
    expect(await workshop.events()).toEqual(before);
    expect(workshop.ledger).toHaveLength(3);
  });

  test("it corrects the letters, runs them again, and records each use", async () => {
    const workshop = openWorkshop();
    workshop.write("redrive.yml", HTTPS);
    const { job_id } = await mapped(workshop);
    const { code, stdout } = await workshop.run(["dlq", "fix", job_id, "--yes", "--quiet"]);
    expect([code, stdout]).toEqual([0, "https: changed 3 letters, 3 succeeded, 0 failed again.\n"]);
    expect(
      workshop.ledger
        .slice(3)
        .map((line) => JSON.parse(line).url)
        .sort(),
    ).toEqual([1, 2, 3].map((n) => `https://host/${n}`));
    const letters = await resolved(workshop);
    expect(letters).toHaveLength(3);
    for (const letter of letters) {
      expect(letter).toMatchObject({
        revision: 2,
        resolution: { kind: "auto_fix" },
        amendments: [{ rule: "https", before: { url: expect.stringMatching(/^http:/) } }],
      });
    }
    expect(await uses(workshop)).toMatchObject([{ job_id, data: { rule: "https", count: 3, refused: 0 } }]);
    expect(await workshop.letters()).toEqual([]);
    expect(await workshop.check()).toBe(SOUND);
  });

  test("a selection and --rule select letters and rules; nothing else is touched", async () => {
    const workshop = openWorkshop();
    workshop.write(
      "redrive.yml",
      `${HTTPS}  - name: other
    match: { class: unknown }
    patch: { url: "https://other" }
`,
    );
    await mapped(workshop);
    const one = await workshop.json<FixJson>("dlq", "fix", "--rule", "other", "--filter", 'item.id == "i2"');
    expect(one).toMatchObject({ selected: 1, succeeded: 1, fixes: [{ rule: "other", changed: 1 }] });
    expect(workshop.ledger.at(-1)).toContain("https://other");
    const rest = await workshop.json<FixJson>("dlq", "fix", "--rule", "https,other");
    expect(rest).toMatchObject({ selected: 2, succeeded: 2, fixes: [{ rule: "https", changed: 2 }] });
  });

  test("a command gets the letter and prints the data; if it fails, its letter is refused with the reason", async () => {
    const workshop = openWorkshop();
    workshop.write(
      "fix.mjs",
      `import { readFileSync } from "node:fs";
       const { item, letter } = JSON.parse(readFileSync(0, "utf8"));
       if (item.id === "i2") { console.error("no certificate for " + letter.item_id); process.exit(7); }
       console.log(JSON.stringify({ ...item, url: item.url.replace("http:", "https:") }));`,
    );
    workshop.write(
      "redrive.yml",
      "fixes: [{ name: ask, match: { type: [CommandFailed] }, command: [node, fix.mjs], timeout: 30s }]",
    );
    const { job_id } = await mapped(workshop);
    const elsewhere = { cwd: "/", env: { REDRIVE_CONFIG: workshop.path("redrive.yml") } };
    const { code, stdout } = await workshop.run(["dlq", "fix", job_id, "--json"], elsewhere);
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({
      selected: 3,
      changed: 2,
      refused: 1,
      succeeded: 2,
      fixes: [{ refusals: [{ count: 1, reason: "node ended with exit code 7: no certificate for i2" }] }],
    });
    expect((await workshop.letters()).map(({ item_id }) => item_id)).toEqual(["i2"]);
  });

  test("a rule is used max_uses times on a letter that keeps failing; a use without a change counts", async () => {
    const workshop = openWorkshop();
    workshop.write(
      "redrive.yml",
      `fixes:
  - { name: again, match: { type: CommandFailed }, patch: {}, max_uses: 1 }
  - { name: more, match: { type: CommandFailed }, set: { n: item.?n.orValue(0) + 1 }, max_uses: 2 }
`,
    );
    await workshop.mapJson([{ id: "x" }], "exit 1", FLAGS);
    const used: string[] = [];
    for (let round = 0; round < 5; round++) {
      const { fixes } = await workshop.json<FixJson>("dlq", "fix");
      used.push(...fixes.map(({ rule }) => rule));
    }
    expect(used).toEqual(["again", "more", "more"]);
    const [letter] = (await workshop.letters()) as readonly Resolved[];
    expect(letter).toMatchObject({ item_data: { id: "x", n: 2 }, revision: 3, redrive_count: 3 });
  });
});

describe("killed in the middle", () => {
  /** A command that reports that it runs, and waits until it may print its answer. */
  async function killed(workshop: Workshop): Promise<void> {
    workshop.write(
      "fix.mjs",
      `import { existsSync, readFileSync, writeFileSync } from "node:fs";
       const { item } = JSON.parse(readFileSync(0, "utf8"));
       writeFileSync("asked", "");
       while (!existsSync("free")) await new Promise((resolve) => setTimeout(resolve, 20));
       console.log(JSON.stringify({ ...item, url: item.url.replace("http:", "https:") }));`,
    );
    workshop.write(
      "redrive.yml",
      "fixes: [{ name: ask, match: { type: CommandFailed }, command: [node, fix.mjs] }]",
    );
    await mapped(workshop);
    const running = workshop.start(["dlq", "fix", "--yes"], { stdin: "" });
    await running.until("the command is asked", () => existsSync(workshop.path("asked")));
    running.signal("SIGKILL");
    await running.ended;
    workshop.write("free", "");
  }

  async function expectFixedOnce(workshop: Workshop): Promise<void> {
    const letters = await resolved(workshop);
    expect(letters).toHaveLength(3);
    for (const letter of letters) {
      expect(letter).toMatchObject({ revision: 2, redrive_count: 1, resolution: { kind: "auto_fix" } });
      expect(letter.amendments).toHaveLength(1);
    }
    expect(await workshop.json("ops", "list", "--open")).toMatchObject({ operations: [] });
    expect(await workshop.check()).toBe(SOUND);
  }

  test("the next use continues: every letter is fixed, and none twice", async () => {
    const workshop = openWorkshop();
    await killed(workshop);
    expect(await workshop.json<FixJson>("dlq", "fix")).toMatchObject({
      selected: 3,
      changed: 3,
      succeeded: 3,
    });
    await expectFixedOnce(workshop);
  });

  test("ops resume continues with the changes, then with the redrive of the changed letters", async () => {
    const workshop = openWorkshop();
    await killed(workshop);
    expect(await workshop.json("ops", "resume")).toMatchObject({
      kind: "edit",
      selected: 3,
      done: 3,
      refused: 0,
    });
    expect(await workshop.json("ops", "resume")).toMatchObject({
      kind: "redrive",
      selected: 3,
      succeeded: 3,
    });
    await expectFixedOnce(workshop);
  });
});

describe("by a running job, with auto: true", () => {
  const AUTO = `${HTTPS}    auto: true\n`;

  test("a map fixes letters with a known cause, and ends well", async () => {
    const workshop = openWorkshop();
    workshop.write("redrive.yml", AUTO);
    const { code, stderr } = await workshop.map(ITEMS, NEEDS_HTTPS, FLAGS);
    expect(code).toBe(0);
    expect(stderr).toMatch(/https .*3 letters/);
    expect((await resolved(workshop)).map(({ resolution }) => resolution?.kind)).toEqual(
      Array(3).fill("auto_fix"),
    );
    const [job] = (await workshop.json<{ jobs: readonly Summary[] }>("jobs")).jobs;
    expect(job).toMatchObject({ status: "completed", succeeded: 3, dead: 0 });
    expect(await workshop.check()).toBe(SOUND);
  });

  test("a fix that does not help is used as often as allowed, and the job ends", async () => {
    const workshop = openWorkshop();
    workshop.write(
      "redrive.yml",
      "fixes: [{ name: hope, match: { type: CommandFailed }, set: { n: item.?n.orValue(0) + 1 }, max_uses: 3, auto: true }]",
    );
    const summary = await workshop.mapJson([{ id: "x" }, { id: "y" }], "echo run >> $L; exit 1", FLAGS);
    expect(summary).toMatchObject({ status: "completed", dead: 2, succeeded: 0 });
    expect(workshop.ledger).toHaveLength(8); // twice, and three times more each
    expect((await uses(workshop)).map(({ data }) => data?.count)).toEqual([2, 2, 2]);
  });

  test("a resume fixes the letters of a job that ended before the rule existed", async () => {
    const workshop = openWorkshop();
    const { job_id } = await mapped(workshop);
    workshop.write("redrive.yml", AUTO);
    const { code } = await workshop.run(["resume", job_id, "--no-dlq"]);
    expect(code).toBe(0);
    expect(await resolved(workshop)).toHaveLength(3);
  });

  test("a workflow reduces the results of its fixes", async () => {
    const workshop = openWorkshop();
    workshop.write("redrive.yml", AUTO);
    workshop.write("items.json", JSON.stringify(ITEMS));
    workshop.write(
      "flow.yml",
      `name: flow
map:
  input: items.json
  json_path: $[*]
  id_field: id
  isolation: none
  agent_template:
    - shell: 'case \${item.url} in https:*) ;; *) echo "plain http" >&2; exit 1;; esac'
reduce:
  - shell: echo "\${map.successful} of \${map.total}" > ${workshop.path("reduced")}
retry: { max_attempts: 1 }
`,
    );
    const { code, stderr } = await workshop.run(["run", "flow.yml", "--quiet"]);
    expect([code, stderr]).toEqual([0, expect.stringContaining("https")]);
    expect(workshop.read("reduced")).toBe("3 of 3\n");
  });

  test("a rule that cannot be evaluated for a letter is reported, and the job ends normally", async () => {
    const workshop = openWorkshop();
    workshop.write(
      "redrive.yml",
      "fixes: [{ name: odd, match: { filter: item.size > 3 }, patch: { a: 1 }, auto: true }]",
    );
    const { code, stderr } = await workshop.map(ITEMS, NEEDS_HTTPS, FLAGS);
    expect(code).toBe(3);
    expect(stderr).toMatch(/no field "size"/);
    const [job] = (await workshop.json<{ jobs: readonly Summary[] }>("jobs")).jobs;
    expect(job).toMatchObject({ status: "completed", dead: 3 });
  });
});

describe("invalid settings", () => {
  test("are reported by every command that needs them, with position and reason, and nothing is done", async () => {
    const workshop = openWorkshop();
    workshop.write("redrive.yml", "dlq:\n  max_item: 5\n");
    const { code, stderr } = await workshop.map([1], "echo run >> $L");
    expect(code).toBe(2);
    expect(stderr).toContain(
      `${workshop.path("redrive.yml")}:2:3: dlq.max_item: unknown key "max_item". Did you mean max_items?`,
    );
    expect(workshop.ledger).toEqual([]);
    const asJson = await workshop.run(["dlq", "fix", "--json"]);
    expect(asJson.json()).toMatchObject({ error: { code: "usage" } });
    expect((await workshop.run(["dlq", "list"])).code).toBe(0); // needs none
  });

  test("--config names the file, and an unknown rule is refused", async () => {
    const workshop = openWorkshop();
    const { code, stderr } = await workshop.run(["dlq", "fix"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("no fixes")]);
    const settings = workshop.write("mine.yml", HTTPS);
    const unknown = await workshop.run(["dlq", "fix", "--config", settings, "--rule", "htps"]);
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('"htps"; did you mean https?'),
    ]);
    await mapped(workshop);
    const { succeeded } = await workshop.json<FixJson>("dlq", "fix", "--config", settings);
    expect(succeeded).toBe(3);
  });
});
