/** Groups: the same failure is one group. Its life cycle, decisions and corrections. */
import { rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  type ErrorJson,
  type EventJson,
  openWorkshop,
  SOUND,
  type Summary,
  type Workshop,
} from "./workshop.ts";

type GroupJson = {
  readonly signature: string;
  readonly pattern: string;
  readonly count: number;
  readonly error_type: string | null;
  readonly error_class: string | null;
  readonly first_occurrence: string | null;
  readonly last_occurrence: string | null;
  readonly jobs: readonly string[];
  readonly state: string;
  readonly is_regression: boolean;
  readonly sample_items: readonly string[];
  readonly algorithms: readonly string[];
};

type MarkJson = GroupJson & {
  readonly author?: string;
  readonly ignore_until?: { readonly at?: string; readonly count?: number; readonly per_hour?: number };
  readonly regressions: number;
  readonly notes: readonly { readonly author: string; readonly text: string }[];
  readonly fixes: readonly {
    readonly kind: string;
    readonly count: number;
    readonly operation_id?: string;
    readonly edit_id?: string;
  }[];
  readonly helped: readonly string[];
};

type ListJson = {
  readonly groups: readonly GroupJson[];
  readonly total: number;
  readonly left_out: Readonly<Record<string, number>>;
  readonly outdated: { readonly letters: number };
};

/** The failures of the items: an item has the number of its line. */
const SAYINGS = [
  "error: disk full",
  "error: connection refused",
  "error: disk gone",
  "error: cannot open 'alpha'",
  "error: cannot open 'beta'",
  "error: disk 7 full at 10.0.0.1",
  "error: disk 7 gone at 10.0.0.1",
];
const [DISK, NET, GONE, ALPHA, BETA, FULL_AT, GONE_AT] = [1, 2, 3, 4, 5, 6, 7];
/** An item `{id, say}` fails with its line of the file `says`, unless the file `fixed` is there. */
const SAYS = `test -e fixed && exit 0; n=$(echo "$1" | sed 's/.*"say"://; s/[^0-9].*//'); sed -n "$n"p says >&2; exit 1`;
const FLAGS = ["--id-field", "id", "--retries", "0"];
const AUTHOR = { env: { REDRIVE_AUTHOR: "ann" } };

const items = (prefix: string, ...says: number[]) =>
  says.map((say, index) => ({ id: `${prefix}${index + 1}`, say }));
const run = (shop: Workshop, given: readonly unknown[], ...flags: string[]) => {
  shop.write("says", SAYINGS.join("\n"));
  return shop.map(given, SAYS, [...FLAGS, ...flags]);
};
const mapped = async (shop: Workshop, given: readonly unknown[], ...flags: string[]): Promise<Summary> =>
  (await run(shop, given, "--json", ...flags)).json<Summary>();
const list = (shop: Workshop, ...flags: string[]) => shop.json<ListJson>("groups", "list", ...flags);
const show = (shop: Workshop, group: string) => shop.json<MarkJson>("groups", "show", group);

/** The group whose pattern has the text. */
async function groupOf(shop: Workshop, text: string): Promise<GroupJson> {
  const { groups } = await list(shop, "--state", "all");
  const found = groups.filter(({ pattern }) => pattern.includes(text));
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} groups have ${text}`);
  return found[0];
}

async function decide(shop: Workshop, ...args: string[]): Promise<MarkJson> {
  const { code, stdout } = await shop.run(["groups", ...args, "--json"], AUTHOR);
  expect(code).toBe(0);
  const [first] = (JSON.parse(stdout) as { groups: readonly MarkJson[] }).groups;
  if (first === undefined) throw new Error("no group was answered");
  return first;
}

const states = async (shop: Workshop) =>
  Object.fromEntries((await shop.letters("--state", "all")).map((one) => [one.item_id, one.error_signature]));

describe("the life of a group", () => {
  test("open, resolved when its letters succeed, and a regression when it returns, with the earlier fix", async () => {
    const shop = openWorkshop();
    const { job_id } = await mapped(shop, items("a", DISK, DISK, NET));
    const disk = await groupOf(shop, "disk full");
    expect(disk).toMatchObject({
      count: 2,
      state: "open",
      is_regression: false,
      jobs: [job_id],
      error_type: "CommandFailed",
    });
    expect([...disk.sample_items].sort()).toEqual(["a1", "a2"]);
    shop.write("fixed", "");
    expect((await shop.run(["dlq", "retry", job_id, "--group", disk.signature], AUTHOR)).code).toBe(0);
    expect(await show(shop, disk.signature)).toMatchObject({ state: "resolved", count: 0, regressions: 0 });
    expect(await list(shop)).toMatchObject({ total: 1, left_out: { resolved: 1 } });
    const listed = await shop.run(["groups"]);
    expect(listed.stdout).toContain("Hidden: 1 resolved (--state all).");
    expect(listed.stdout).not.toContain(disk.signature);

    await shop.run(["dlq", "note", "a3", "unrelated"]);
    rmSync(shop.path("fixed"));
    const again = await run(shop, items("b", DISK));
    expect(again.code).toBe(3);
    const shown = await show(shop, disk.signature);
    expect(shown).toMatchObject({ state: "open", is_regression: true, regressions: 1, count: 1 });
    expect(shown.fixes).toMatchObject([
      { kind: "requeue", count: 2, operation_id: expect.stringMatching(/^op-/) },
    ]);
    expect(shown.helped[0]).toMatch(/^retry op-\w+ by ann unchanged, .* after they died$/);
    expect(again.stderr).toContain("  1  regression: ");
    expect(again.stderr).toMatch(
      new RegExp(`1 of these was fixed before by retry op-.*: redrive groups show ${disk.signature}`),
    );
    const text = (await shop.run(["groups", "show", disk.signature])).stdout;
    expect(text).toContain("reopened as a regression, since ");
    expect(text).toContain("came back once after it was resolved");
    expect(text).toMatch(/What helped before\n {2}\S+ \S+ {2}2 letters succeeded: retry op-/);
    expect((await shop.run(["groups", "list"])).stdout).toContain("regression");
    const types = (await shop.events()).map(({ type }) => type).filter((type) => type.startsWith("group_"));
    expect(types).toEqual(["group_opened", "group_opened", "group_resolved", "group_reopened"]);
    expect(await shop.check()).toBe(SOUND);
  });

  test("an edit that helped is shown with its change, in the letter of the same failure too", async () => {
    const shop = openWorkshop();
    const needsHttps = 'case "$1" in *https:*) ;; *) echo "error: plain text is refused" >&2; exit 1;; esac';
    const { job_id } = await shop.mapJson([{ id: "a", url: "http:" }], needsHttps, FLAGS);
    await shop.run(["dlq", "edit", "a", "--set", 'url="https:"', "--yes"], AUTHOR);
    expect((await shop.run(["dlq", "retry", job_id])).code).toBe(0);
    await shop.map([{ id: "b", url: "http:" }], needsHttps, FLAGS);
    const { signature } = await groupOf(shop, "plain text");
    const { helped } = await show(shop, signature);
    expect(helped[0]).toMatch(/^edit op-\w+ \(set url="https:"\) by ann, then retry op-\w+$/);
    await shop.run(["groups", "note", signature, "ask for https"], AUTHOR);
    const letter = (await shop.run(["dlq", "inspect", "b"])).stdout;
    expect(letter).toContain(`${signature}; reopened as a regression,`);
    expect(letter).toContain("ann: ask for https");
    expect(letter).toContain("1 letter succeeded: edit op-");
    expect(await shop.json("dlq", "inspect", "b")).toMatchObject({
      group: { state: "open", is_regression: true },
    });
  });

  test("a person resolves, opens and notes it, by name and with a reason", async () => {
    const shop = openWorkshop();
    await mapped(shop, items("a", DISK, NET));
    const [disk, net] = [await groupOf(shop, "disk"), await groupOf(shop, "connection")];
    const resolved = await shop.run(
      ["groups", "resolve", disk.signature, net.signature, "--note", "new disk"],
      AUTHOR,
    );
    expect(resolved.stdout).toContain(`${disk.signature}: resolved since `);
    expect(resolved.stdout).toContain(`1 letter`);
    expect((await list(shop, "--state", "resolved")).total).toBe(2);
    expect(await decide(shop, "open", net.signature, "--note", "not yet")).toMatchObject({
      state: "open",
      author: "ann",
      notes: [
        { author: "ann", text: "new disk" },
        { author: "ann", text: "not yet" },
      ],
    });
    await decide(shop, "note", disk.signature, "look at df");
    expect(await decide(shop, "assign", disk.signature, "--to", "ann")).toMatchObject({ assignee: "ann" });
    expect((await list(shop, "--state", "all", "--assignee", "ann")).total).toBe(1);
    expect((await shop.run(["groups", "--state", "resolved"])).stdout).toContain("ASSIGNEE");
    expect((await shop.run(["groups", "show", disk.signature])).stdout).toMatch(/assignee +ann/iu);
    const nobody = await shop.run(["groups", "assign", disk.signature, "--to", "none"], AUTHOR);
    expect(nobody.stdout).toBe(`${disk.signature}: not assigned\n`);
    expect((await show(shop, disk.signature)).notes.map(({ text }) => text)).toEqual([
      "new disk",
      "look at df",
    ]);
  });
});

describe("an ignored group", () => {
  test("is left out of lists and next steps, and counted", async () => {
    const shop = openWorkshop();
    const { job_id } = await mapped(shop, items("a", DISK, DISK), "--name", "one");
    const { signature } = await groupOf(shop, "disk");
    expect(await decide(shop, "ignore", signature, "--note", "known")).toMatchObject({ state: "ignored" });
    expect(await list(shop)).toMatchObject({ groups: [], left_out: { ignored: 1 } });
    const { stdout } = await shop.run(["status", job_id]);
    expect(stdout).toContain("2 in an ignored group: redrive groups list --state ignored");
    expect(stdout).not.toContain("redrive dlq retry");
    expect((await shop.run(["groups", "show", signature])).stdout).toContain(
      "ignored until someone reopens it since",
    );
    expect((await shop.run(["dlq", "analyze"])).stdout).toContain(`${signature} · ignored`);
    await mapped(shop, items("b", DISK));
    expect((await show(shop, signature)).state).toBe("ignored");
  });

  test("reopens after the given number of new letters", async () => {
    const shop = openWorkshop();
    await mapped(shop, items("a", DISK));
    const { signature } = await groupOf(shop, "disk");
    expect((await decide(shop, "ignore", signature, "--count", "2")).ignore_until).toEqual({ count: 2 });
    await mapped(shop, items("b", DISK));
    expect((await show(shop, signature)).state).toBe("ignored");
    await mapped(shop, items("c", DISK));
    expect(await show(shop, signature)).toMatchObject({ state: "open", is_regression: false });
    expect(await whyReopened(shop)).toBe("count");
  });

  test("reopens when more than the given number die within an hour", async () => {
    const shop = openWorkshop();
    await mapped(shop, items("a", DISK));
    const { signature } = await groupOf(shop, "disk");
    expect((await decide(shop, "ignore", signature, "--rate", "1/h")).ignore_until).toEqual({ per_hour: 1 });
    await mapped(shop, items("b", DISK));
    expect((await show(shop, signature)).state).toBe("ignored");
    await mapped(shop, items("c", DISK));
    expect((await show(shop, signature)).state).toBe("open");
    expect(await whyReopened(shop)).toBe("rate");
  });

  test("reopens with the first failure after the given time", async () => {
    const shop = openWorkshop();
    await mapped(shop, items("a", DISK));
    const { signature } = await groupOf(shop, "disk");
    const { ignore_until } = await decide(shop, "ignore", signature, "--until", "2999-01-01T00:00Z");
    expect(ignore_until).toEqual({ at: "2999-01-01T00:00:00.000Z" });
    await mapped(shop, items("b", DISK));
    expect((await show(shop, signature)).state).toBe("ignored");
    await decide(shop, "ignore", signature, "--until", "1ms"); // is over when the next command has started
    await mapped(shop, items("c", DISK));
    expect((await show(shop, signature)).state).toBe("open");
    expect(await whyReopened(shop)).toBe("time");
  });

  const whyReopened = async (shop: Workshop): Promise<unknown> => {
    const events: readonly EventJson[] = await shop.events("--type", "group_reopened");
    return events.at(-1)?.data?.why;
  };
});

describe("corrections", () => {
  test("a merge is permanent, also for the failures of a new run, and the merged group refers to the other", async () => {
    const shop = openWorkshop();
    await mapped(shop, items("a", DISK, NET, NET));
    const [disk, net] = [await groupOf(shop, "disk"), await groupOf(shop, "connection")];
    const merged = await shop.run(
      ["groups", "merge", disk.signature.slice(0, 6), "--into", net.signature, "--yes", "--json"],
      AUTHOR,
    );
    expect(merged.json()).toEqual({
      signature: net.signature,
      title: expect.stringContaining("connection"),
      location: "sh · exit 1",
      pattern: net.pattern,
      merged: [disk.signature],
      moved: 1,
    });
    await mapped(shop, items("b", DISK));
    expect(new Set(Object.values(await states(shop)))).toEqual(new Set([net.signature]));
    expect(await list(shop)).toMatchObject({ groups: [{ signature: net.signature, count: 4 }], total: 1 });
    expect(await shop.letters("--group", disk.signature)).toHaveLength(4);
    const shown = await shop.run(["groups", "show", disk.signature]);
    expect(shown.stderr).toContain(`${disk.signature} was merged into ${net.signature}.`);
    const corrections = await shop.json<{ corrections: readonly unknown[] }>("groups", "corrections");
    expect(corrections.corrections).toMatchObject([
      { number: 1, kind: "merge", from: disk.signature, to: net.signature, author: "ann" },
    ]);
    expect(await shop.check()).toBe(SOUND);
  });

  test("a split is permanent, and can be removed", async () => {
    const shop = openWorkshop();
    await mapped(shop, items("a", ALPHA, BETA));
    const group = await groupOf(shop, "cannot open");
    expect(group.count).toBe(2);
    const split = await shop.json<{ signature: string; pattern: string; moved: number }>(
      ...["groups", "split", group.signature, "--text", "ALPHA", "--name", "the alpha one", "--yes"],
    );
    expect(split).toMatchObject({ pattern: "the alpha one", from: group.signature, text: "ALPHA", moved: 1 });
    await mapped(shop, items("b", ALPHA, BETA));
    expect(await states(shop)).toEqual({
      a1: split.signature,
      a2: group.signature,
      b1: split.signature,
      b2: group.signature,
    });
    expect(await shop.letters("--group", "the alpha one")).toHaveLength(2);
    const { stdout } = await shop.run(["groups", "corrections"]);
    expect(stdout).toMatch(/^NO\s+KIND\s+FROM\s+TEXT\s+TO/);
    expect(stdout).toContain("ALPHA");
    const removed = await shop.run(["groups", "corrections", "--remove", "1"]);
    expect(removed.stdout).toContain("redrive groups rebuild");
    await shop.run(["groups", "rebuild", "--yes"]);
    expect(new Set(Object.values(await states(shop)))).toEqual(new Set([group.signature]));
    expect((await shop.run(["groups", "corrections"])).stdout).toBe("No merges and no splits.\n");
  });

  test("without a name a split is named after the group and the text", async () => {
    const shop = openWorkshop();
    await mapped(shop, items("a", DISK));
    const { signature, pattern } = await groupOf(shop, "disk");
    const split = await shop.json<{ pattern: string }>("groups", "split", signature, "--text", "disk");
    expect(split.pattern).toBe(`${pattern} (disk)`);
  });
});

describe("rules of redrive.yml", () => {
  const RULES =
    "groups:\n  - { name: storage, match: { text: disk } }\n  - { name: all, match: { type: CommandFailed, step: sh } }\n";

  test("precede the algorithm, in a new run and in a rebuild, and name their groups", async () => {
    const shop = openWorkshop();
    await mapped(shop, items("a", DISK, NET), "--name", "before");
    shop.write("redrive.yml", RULES);
    const { groups } = await mapped(shop, items("b", DISK, GONE), "--name", "after");
    expect(groups).toMatchObject([{ pattern: "storage", count: 2 }]);
    expect((await shop.letters("--group", "storage")).map(({ item_id }) => item_id).sort()).toEqual([
      "b1",
      "b2",
    ]);
    const dry = await shop.json<{ changed: number }>("groups", "rebuild", "--job", "before", "--dry-run");
    expect(dry).toMatchObject({ dry_run: true, letters: 2, groups_before: 2 });
    expect(dry.changed).toBeGreaterThan(0);
    expect(await shop.letters("--group", "storage")).toHaveLength(2);
    const text = (await shop.run(["groups", "rebuild", "--yes"])).stdout;
    expect(text).toMatch(
      /^\d of 4 letters changed their group; \d groups before, \d after \(redrive-\d+\)\.\n$/,
    );
    expect(await shop.letters("--group", "storage")).toHaveLength(3);
    const explained = await shop.run(["groups", "explain", "storage"]);
    expect(explained.stdout).toContain('Grouped by the rule "storage" in redrive.yml.');
    expect(await shop.check()).toBe(SOUND);
  });

  test("that are invalid stop a run before it begins", async () => {
    const shop = openWorkshop();
    shop.write("redrive.yml", "groups:\n  - { name: a, match: { pattern: '(a' } }\n");
    const { code, stderr } = await run(shop, items("a", DISK));
    expect(code).toBe(2);
    expect(stderr).toContain(
      "redrive.yml:2:34: groups[0].match.pattern: the pattern cannot be used: missing closing )",
    );
    expect(shop.ledger).toEqual([]);
    expect((await shop.json<{ jobs: readonly unknown[] }>("jobs")).jobs).toEqual([]);
  });
});

describe("groups on the screen", () => {
  test("a list has the requested length, of one job or of all", async () => {
    const shop = openWorkshop();
    await mapped(shop, items("a", DISK, NET), "--name", "one");
    await mapped(shop, items("b", DISK), "--name", "two");
    expect(await list(shop)).toMatchObject({
      total: 2,
      groups: [{ count: 2, jobs: { length: 2 } }, { count: 1 }],
    });
    expect(await list(shop, "--limit", "1")).toMatchObject({ total: 2, groups: { length: 1 } });
    expect(await list(shop, "--job", "two")).toMatchObject({
      total: 1,
      groups: [{ count: 1, sample_items: ["b1"] }],
    });
    const { stdout } = await shop.run(["groups"]);
    expect(stdout).toMatch(/^CommandFailed.*\nGROUP\s+LETTERS\s+STATE\s+FIRST\s+LAST\s+JOBS\s+ERROR\n/);
    expect(stdout).toContain("2 of 2 groups.");
  });

  test("an explanation shows the line, the masks and similar groups, of a group or of an item", async () => {
    const shop = openWorkshop();
    const { job_id } = await mapped(shop, items("a", FULL_AT, GONE_AT));
    const group = await groupOf(shop, "full");
    const explained = await shop.json<Record<string, unknown>>(
      "groups",
      "explain",
      group.signature.slice(0, 8),
    );
    expect(explained).toMatchObject({
      signature: group.signature,
      item_id: "a1",
      would_move: false,
      computed_signature: group.signature,
      lines: [expect.stringContaining("disk 7 full at 10.0.0.1")],
      nearest: [{ count: 1, pattern: expect.stringContaining("gone") }],
    });
    expect(explained.hits).toContainEqual(expect.objectContaining({ before: "10.0.0.1", after: "<ip>" }));
    const { stdout } = await shop.run(["groups", "explain", "a1", "--job", job_id]);
    expect(stdout).toContain(group.signature);
    expect(stdout).toContain("disk 7 full at 10.0.0.1");
    expect(stdout).toContain("10.0.0.1 → <ip>");
    expect(stdout).toContain("Similar groups");
    expect((await shop.run(["groups", "explain", "a1"])).stdout).toBe(stdout);
  });

  test("an explanation compares two items: the fixed words that keep them apart, or that they are one group", async () => {
    const shop = openWorkshop();
    await mapped(shop, items("a", FULL_AT, GONE_AT, FULL_AT));
    const compared = await shop.json("groups", "explain", "a1", "--with", "a2");
    const { signature } = await groupOf(shop, "gone");
    expect(compared).toMatchObject({
      compared_with: {
        signature,
        same_group: false,
        differences: [
          { part: "words", here: expect.stringContaining("full"), there: expect.stringContaining("gone") },
        ],
      },
    });
    const apart = await shop.run(["groups", "explain", "a1", "--with", "a2"]);
    expect(apart.stdout).toContain(`Compared with ${signature}`);
    expect(apart.stdout).toContain(`redrive groups merge ${signature} --into `);
    const same = await shop.run(["groups", "explain", "a1", "--with", "a3"]);
    expect(same.stdout).toContain("The same group");
    const full = (await groupOf(shop, "full")).signature;
    await shop.run(["groups", "merge", signature, "--into", full, "--yes"], AUTHOR);
    const merged = await shop.run(["groups", "explain", "a2", "--with", "a1"]);
    expect(merged.stdout).toContain(`Moved from ${signature} to ${full} by a merge of ann at `);
    expect(merged.stdout).toContain("The same group, by a rule or a correction");
  });

  test("every bulk command finds a group by a prefix of its signature", async () => {
    const shop = openWorkshop();
    const { job_id } = await mapped(shop, items("a", DISK, NET));
    const disk = (await groupOf(shop, "disk")).signature.slice(0, 7);
    expect((await shop.letters("--group", disk)).map(({ item_id }) => item_id)).toEqual(["a1"]);
    const args = ["discard", "--group", disk, "--reason", "old", "--yes"];
    expect(await shop.json("dlq", ...args)).toMatchObject({ job_id, done: 1 });
    expect((await shop.letters()).map(({ item_id }) => item_id)).toEqual(["a2"]);
  });
});

describe("invalid words", () => {
  const withGroup = (args: readonly string[], good: string) =>
    args.map((word) => (word === "GOOD" ? good : word));

  test("a word that means no group is an error of every command, and changes nothing", async () => {
    const shop = openWorkshop();
    await mapped(shop, items("a", DISK));
    const good = (await groupOf(shop, "disk")).signature;
    const before = [await shop.events(), await list(shop, "--state", "all")];
    for (const args of [
      ["show", "ffff"],
      ["explain", "nothing"],
      ["resolve", "GOOD", "ffff"],
      ["ignore", "GOOD", "ffff"],
      ["open", "ffff"],
      ["note", "ffff", "text"],
      ["merge", "ffff", "--into", "GOOD", "--yes"],
      ["merge", "GOOD", "--into", "ffff", "--yes"],
      ["split", "ffff", "--text", "x", "--yes"],
    ]) {
      const { code, stdout } = await shop.run(["groups", ...withGroup(args, good), "--json"]);
      const { error } = JSON.parse(stdout) as ErrorJson;
      expect([args, code, error.code]).toEqual([args, 4, "group_not_found"]);
    }
    expect([await shop.events(), await list(shop, "--state", "all")]).toEqual(before);
    expect(await shop.json("groups", "corrections")).toEqual({ corrections: [] });
  });

  test("so is every option that cannot be parsed", async () => {
    const shop = openWorkshop();
    await mapped(shop, items("a", DISK));
    const good = (await groupOf(shop, "disk")).signature;
    const before = [await shop.events(), await list(shop, "--state", "all")];
    for (const [args, message] of [
      [["ignore", "GOOD", "--until", "2001-01-01"], '--until: "2001-01-01"'],
      [["ignore", "GOOD", "--until", "2001-99-99"], '--until: "2001-99-99" is not a time'],
      [["ignore", "GOOD", "--until", "soon"], '--until: "soon" is not a duration'],
      [["ignore", "GOOD", "--count", "0"], "--count"],
      [["ignore", "GOOD", "--rate", "5"], '--rate: "5" is not a rate'],
      [["resolve", "GOOD", "--note", " "], "--note: the text is empty"],
      [["note", "GOOD", ""], "The note: the text is empty"],
      [["split", "GOOD", "--text", " "], "--text: the text is empty"],
      [["split", "GOOD", "--text", "x", "--name", ""], "--name: the text is empty"],
      [["merge", "GOOD", "--into", "GOOD"], "cannot be merged into itself"],
      [["corrections", "--remove", "3"], "There is no correction 3"],
      [["list", "--state", "closed"], '"closed"'],
      [["list", "--limit", "0"], "--limit"],
    ] as const) {
      const { code, stderr } = await shop.run(["groups", ...withGroup(args, good)]);
      expect([args, code]).toEqual([args, 2]);
      expect(stderr).toContain(message);
    }
    expect([await shop.events(), await list(shop, "--state", "all")]).toEqual(before);
  });
});
