/** Edits letters: by a rule, by a patch, in an editor; one or thousands; with one undo. */
import { chmodSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/engines/open.ts";
import { asPerson } from "../support/person.ts";
import { CLI, importLetters, killedInBetween } from "./killed-bulk.ts";
import {
  type ErrorJson,
  type LetterJson,
  type OperationJson,
  openWorkshop,
  SOUND,
  upTo,
  type Workshop,
} from "./workshop.ts";

type EditJson = OperationJson & {
  readonly kind: string;
  readonly job_id: string;
  readonly status: string;
  readonly done: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly refusals?: readonly { reason: string; count: number }[];
  readonly changes?: readonly { item_id: string; changes: readonly object[] }[];
};
type AmendedJson = LetterJson & {
  readonly revision: number;
  readonly amendments?: readonly { author: string; note?: string; before: unknown; operation_id: string }[];
  readonly resolution?: { kind: string; author?: string; reason?: string };
};

/** Letters `i1` to `in` in this order, with a bad URL each: the command works once it begins with https. */
async function badUrls(shop: Workshop, count = 3): Promise<void> {
  const items = upTo(count).map((n) => ({ id: `i${n}`, n, url: `http://h/${n}` }));
  const script = 'echo "$1" >> $L; case "$1" in https:*) exit 0;; esac; exit 3';
  const flags = [
    "--name",
    "ship",
    "--id-field",
    "id",
    "--retries",
    "0",
    "--format",
    "jsonl",
    "-q",
    "-j",
    "1",
  ];
  await shop.run(
    ["map", ...flags, "--", "sh", "-c", `L=${shop.ledgerPath}; ${script}`, "sh", "${item.url}"],
    {
      stdin: items.map((item) => `${JSON.stringify(item)}\n`).join(""),
    },
  );
}

const REPAIR = 'url=item.url.replace("http:", "https:")';

async function dataOf(shop: Workshop): Promise<Record<string, unknown>> {
  return Object.fromEntries((await shop.letters()).map((letter) => [letter.item_id, letter.item_data]));
}

const inspect = (shop: Workshop, item: string) => shop.json<AmendedJson>("dlq", "inspect", item);

/** A real program that edits the file it is given. */
function editor(shop: Workshop, script: string): string {
  const path = shop.write("editor.sh", `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

describe("dlq edit, then retry", () => {
  it("runs the real command with the corrected data, keeps the original, and records a manual fix", async () => {
    const shop = openWorkshop();
    await badUrls(shop);
    const before = await shop.letters();
    const env = { REDRIVE_AUTHOR: "ada@example" };
    const args = ["dlq", "edit", "i2", "--set", REPAIR, "--note", "https only", "--json"];
    const edit = (await shop.run(args, { env })).json<EditJson>();
    expect(edit).toMatchObject({
      kind: "edit",
      status: "ended",
      selected: 1,
      done: 1,
      changed: 1,
      unchanged: 0,
    });
    expect(await inspect(shop, "i2")).toMatchObject({
      item_data: { id: "i2", n: 2, url: "https://h/2" },
      revision: 2,
      failure_history: before.find(({ item_id }) => item_id === "i2")?.failure_history,
      amendments: [
        {
          author: "ada@example",
          note: "https only",
          before: { url: "http://h/2" },
          operation_id: edit.operation_id,
        },
      ],
    });
    const amended = (await shop.events("--type", "dlq_item_amended")).map(({ item_id }) => item_id);
    expect(amended).toEqual(["i2"]);
    const retry = await shop.run(["dlq", "retry", "ship", "--json"]);
    expect(retry.json<OperationJson>()).toMatchObject({ selected: 3, succeeded: 1, failed: 2 });
    expect(shop.ledger.slice(3).sort()).toEqual(["http://h/1", "http://h/3", "https://h/2"]);
    const resolved = await inspect(shop, "i2");
    expect(resolved).toMatchObject({ state: "done", resolution: { kind: "manual_fix" } });
    expect(resolved.amendments?.[0]?.before).toEqual({ id: "i2", n: 2, url: "http://h/2" });
    // A second failure is one more record and replaces none (pitfall 6).
    expect((await inspect(shop, "i1")).failure_history.map((one) => one.attempt_number)).toEqual([1, 2]);
    expect(await shop.check()).toBe(SOUND);
  });
});

describe("dlq edit by a rule", () => {
  it("changes each letter from its own data, more than a page of them, and is undone as one", async () => {
    const shop = openWorkshop();
    await badUrls(shop, 45);
    const before = await dataOf(shop);
    const edit = await shop.json<EditJson>("dlq", "edit", "--set", REPAIR, "--set", "m=item.n * 2", "--yes");
    expect(edit).toMatchObject({ selected: 45, changed: 45, refused: 0, remaining: 0 });
    const after = upTo(45).map((n) => [`i${n}`, { id: `i${n}`, n, url: `https://h/${n}`, m: n * 2 }]);
    expect(await dataOf(shop)).toEqual(Object.fromEntries(after));
    const undo = await shop.json<EditJson>("ops", "undo", edit.operation_id ?? "");
    expect(undo).toMatchObject({ kind: "edit", undoes: edit.operation_id, selected: 45, changed: 45 });
    expect(await dataOf(shop)).toEqual(before);
    const again = await shop.json<EditJson>("ops", "undo", undo.operation_id ?? "");
    expect(again).toMatchObject({ changed: 45 });
    expect(await dataOf(shop)).toEqual(Object.fromEntries(after));
    expect(await shop.check()).toBe(SOUND);
  });

  it("--dry-run shows the first changes, counts all, and changes nothing", async () => {
    const shop = openWorkshop();
    await badUrls(shop, 8);
    const before = await shop.letters();
    const newest = before[0]?.item_id ?? "";
    const n = Number(newest.slice(1));
    const dry = await shop.json<EditJson>(
      "dlq",
      "edit",
      "--patch",
      '{"url": "https://x", "n": null}',
      "--show",
      "2",
      "--dry-run",
    );
    expect(dry).toMatchObject({
      operation_id: null,
      dry_run: true,
      selected: 8,
      changed: 8,
      unchanged: 0,
      refused: 0,
    });
    expect(dry.changes).toHaveLength(2);
    expect(dry.changes?.[0]).toEqual({
      item_id: newest,
      changes: [
        { path: "n", before: n },
        { path: "url", before: `http://h/${n}`, after: "https://x" },
      ],
    });
    const { stdout } = await shop.run(["dlq", "edit", "--set", REPAIR, "--dry-run"]);
    expect(stdout).toContain(`~ url: "http://h/${n}" → "https://h/${n}"`);
    expect(stdout).toContain("… and 3 more (--show 8 shows all)");
    expect(stdout).toContain("8 of 8 letters change.");
    expect(await shop.letters()).toEqual(before);
    expect((await shop.json<{ operations: unknown[] }>("ops", "list")).operations).toEqual([]);
  });

  it("selects with the same options as every command, and takes a patch from a file", async () => {
    const shop = openWorkshop();
    await badUrls(shop, 5);
    shop.write("patch.json", '{"tag": "late"}');
    const edit = await shop.json<EditJson>(
      "dlq",
      "edit",
      "--filter",
      "item.n > 3",
      "--patch",
      "@patch.json",
      "--type",
      "CommandFailed",
    );
    expect(edit).toMatchObject({ selected: 2, changed: 2 });
    const tagged = (await shop.letters()).filter((one) => JSON.stringify(one.item_data).includes("late"));
    expect(tagged.map(({ item_id }) => item_id)).toEqual(["i5", "i4"]);
    const same = await shop.json<EditJson>("dlq", "edit", "i5", "i1", "--patch", '{"tag": "late"}');
    expect(same).toMatchObject({ selected: 2, changed: 1, unchanged: 1 });
  });

  it("refuses letters whose new data violates the schema, with the reason, and exits with 3", async () => {
    const shop = openWorkshop();
    await badUrls(shop, 3);
    shop.write(
      "schema.json",
      JSON.stringify({ properties: { n: { maximum: 20 }, url: { pattern: "^https:" } } }),
    );
    const args = [
      "dlq",
      "edit",
      "--set",
      REPAIR,
      "--set",
      "n=item.n * 10",
      "--schema",
      "schema.json",
      "--json",
      "--yes",
    ];
    const dry = (await shop.run([...args, "--dry-run"])).json<EditJson>();
    expect(dry.refusals).toEqual([{ reason: expect.stringContaining("n (30) is more than 20"), count: 1 }]);
    const { code, json } = await shop.run(args);
    expect([code, json<EditJson>()]).toEqual([
      3,
      expect.objectContaining({ selected: 3, changed: 2, refused: 1 }),
    ]);
    expect((await dataOf(shop)).i3).toEqual({ id: "i3", n: 3, url: "http://h/3" });
  });

  it("obeys the schema of the queue", async () => {
    const shop = openWorkshop();
    await badUrls(shop, 2);
    const engine = await openStore(shop.storeUrl);
    const job = await engine.findJob("ship");
    await engine.changeJob(job?.id ?? "", { spec: { ...job?.spec, schema: { required: ["url"] } } });
    await engine.close();
    const { code, json } = await shop.run(["dlq", "edit", "i1", "--patch", '{"url": null}', "--json"]);
    expect([code, json<EditJson>().refused]).toEqual([3, 1]);
    expect(await shop.json<EditJson>("dlq", "edit", "i1", "--patch", '{"n": null}')).toMatchObject({
      changed: 1,
    });
  });

  it.each([
    ["a path", ["--set", "a..b=1"], "usage"],
    ["no value", ["--set", "url"], "usage"],
    ["CEL", ["--set", "url=item."], "filter_invalid"],
    ["a variable", ["--set", "url=itm.url"], "filter_invalid"],
    ["a patch", ["--patch", "{url: 1}"], "input_invalid"],
    ["a patch file", ["--patch", "@nowhere.json"], "usage"],
    ["a schema", ["--patch", "{}", "--schema", "bad.json"], "usage"],
    ["a filter", ["--patch", "{}", "--filter", "item.n >"], "filter_invalid"],
    ["a filter's field", ["--patch", "{}", "--filter", "letter.sate == 'dead'"], "filter_invalid"],
    ["a state", ["--patch", "{}", "--state", "discarded"], "filter_invalid"],
    ["a number", ["--patch", "{}", "--show", "-1"], "usage"],
    ["nothing to change by", [], "usage"],
  ])("%s that is wrong is exit code 2, and nothing is touched", async (_, words, code) => {
    const shop = openWorkshop();
    await badUrls(shop, 2);
    shop.write("bad.json", '{"type": "strnig"}');
    const before = await shop.letters();
    const result = await shop.run(["dlq", "edit", ...words, "--json", "--yes"]);
    expect([result.code, result.json<ErrorJson>().error.code]).toEqual([2, code]);
    expect(await shop.letters()).toEqual(before);
    expect((await shop.json<{ operations: unknown[] }>("ops", "list")).operations).toEqual([]);
  });

  it("an item that is not a dead letter is refused with exit code 5", async () => {
    const shop = openWorkshop();
    await badUrls(shop, 2);
    await shop.run(["dlq", "discard", "i1", "--reason", "x"]);
    const { code, stderr } = await shop.run(["dlq", "edit", "i2", "i1", "--patch", '{"a":1}']);
    expect(code).toBe(5);
    expect(stderr).toContain("i1 is discarded; edit needs a letter that is dead");
    expect((await dataOf(shop)).i2).toEqual({ id: "i2", n: 2, url: "http://h/2" });
  });

  it("asks on a terminal, after the preview, and a no changes nothing", async () => {
    const shop = openWorkshop();
    await badUrls(shop, 3);
    const args = ["dlq", "edit", "--set", REPAIR];
    const no = await asPerson(args, { home: shop.home, env: shop.env, answers: ["n"] });
    expect(no.code).toBe(2);
    expect(no.stderr).toContain('~ url: "http://h/3" → "https://h/3"');
    expect(no.stderr).toContain("Change 3 letters of");
    expect((await dataOf(shop)).i1).toMatchObject({ url: "http://h/1" });
    const yes = await asPerson(args, { home: shop.home, env: shop.env, answers: ["y"] });
    expect([yes.code, yes.stdout.split("\n")[0]]).toEqual([
      0,
      expect.stringMatching(/^Changed 3 letters of ship-/),
    ]);
    const unasked = await asPerson([...args, "--yes"], { home: shop.home, env: shop.env, answers: [] });
    expect(unasked.stdout).toContain("3 already had the data");
    expect(unasked.stderr).not.toContain("[y/N]");
  });
});

describe("dlq edit in an editor", () => {
  it("opens the data as JSON with the command in EDITOR and its arguments, and takes what was written", async () => {
    const shop = openWorkshop();
    await badUrls(shop, 1);
    const path = editor(
      shop,
      `cp "$2" "${shop.path("seen.json")}"; echo "$1" > "${shop.path("flag")}"; sed -i s/http:/https:/ "$2"; echo noise`,
    );
    const { code, json, stderr } = await shop.run(["dlq", "edit", "i1", "--json"], {
      env: { EDITOR: `'${path}' --wait` },
    });
    expect([code, json<EditJson>().changed]).toEqual([0, 1]);
    expect(stderr).toContain("noise");
    expect(shop.read("flag")).toBe("--wait\n");
    expect(shop.read("seen.json")).toBe(
      `${JSON.stringify({ id: "i1", n: 1, url: "http://h/1" }, null, 2)}\n`,
    );
    expect((await inspect(shop, "i1")).item_data).toEqual({ id: "i1", n: 1, url: "https://h/1" });
  });

  it("VISUAL precedes EDITOR; --dry-run writes nothing; unchanged data is nothing to do", async () => {
    const shop = openWorkshop();
    await badUrls(shop, 1);
    const env = { VISUAL: editor(shop, 'echo "[1, 2]" > "$1"'), EDITOR: "false" };
    const dry = await shop.run(["dlq", "edit", "i1", "--dry-run"], { env });
    expect(dry.stdout).toContain("→ [1,2]");
    expect((await inspect(shop, "i1")).revision).toBe(1);
    const same = await shop.run(["dlq", "edit", "i1"], { env: { EDITOR: "true" } });
    expect([same.code, same.stdout]).toEqual([0, "Nothing was changed.\n"]);
    expect((await shop.json<{ operations: unknown[] }>("ops", "list")).operations).toEqual([]);
    await shop.run(["dlq", "edit", "i1"], { env });
    expect((await inspect(shop, "i1")).item_data).toEqual([1, 2]);
  });

  it("text that is not JSON is reported with its line, kept in a named file, and changes nothing", async () => {
    const shop = openWorkshop();
    await badUrls(shop, 1);
    const env = { EDITOR: editor(shop, `printf '{\\n  "n": oops\\n}\\n' > "$1"`) };
    const { code, stderr } = await shop.run(["dlq", "edit", "i1"], { env });
    expect(code).toBe(2);
    expect(stderr).toMatch(/i1\.json:2:8: invalid JSON from here on\./);
    const kept = /Your text is saved in (\S+\.json)/.exec(stderr)?.[1] ?? "";
    expect(readFileSync(kept, "utf8")).toContain("oops");
    expect((await inspect(shop, "i1")).revision).toBe(1);
    // The hint works as it is written.
    shop.write("fixed.json", '{"n": 7}');
    await shop.run(["dlq", "edit", "i1"], { env: { EDITOR: `cp ${shop.path("fixed.json")}` } });
    expect((await inspect(shop, "i1")).item_data).toEqual({ n: 7 });
  });

  it("a person may edit again what was not JSON, or what the schema refused", async () => {
    const shop = openWorkshop();
    await badUrls(shop, 1);
    shop.write("schema.json", '{"properties": {"n": {"minimum": 5}}}');
    // Each time it is opened it continues with the next step.
    const script = `c=$(cat "${shop.path("count")}" 2>/dev/null || echo 0); echo $((c + 1)) > "${shop.path("count")}"
case $c in 0) echo nonsense > "$1";; 1) echo '{"n": 1}' > "$1";; *) echo '{"n": 9}' > "$1";; esac`;
    const { code, stderr } = await asPerson(["dlq", "edit", "i1", "--schema", "schema.json"], {
      home: shop.home,
      env: { ...shop.env, EDITOR: editor(shop, script) },
      answers: ["y", "y"],
    });
    expect(stderr).toContain("invalid JSON from here on");
    expect(stderr).toContain("n (1) is less than 5");
    expect([code, shop.read("count")]).toEqual([0, "3\n"]);
    expect((await inspect(shop, "i1")).item_data).toEqual({ n: 9 });
  });

  it("Ctrl-C in the editor does not end the command", async () => {
    const shop = openWorkshop();
    await badUrls(shop, 1);
    const script = `kill -INT "$PPID" $(ps -o ppid= -p "$PPID"); echo '{"n": 5}' > "$1"`;
    const env = { EDITOR: editor(shop, script) };
    expect((await shop.run(["dlq", "edit", "i1"], { env })).code).toBe(0);
    expect((await inspect(shop, "i1")).item_data).toEqual({ n: 5 });
  });

  it("an editor that fails, or none at all, changes nothing and is exit code 2; so are several letters", async () => {
    const shop = openWorkshop();
    await badUrls(shop, 2);
    const failed = await shop.run(["dlq", "edit", "i1"], {
      env: { EDITOR: editor(shop, 'echo 1 > "$1"; exit 3') },
    });
    expect([failed.code, failed.stderr]).toEqual([2, expect.stringContaining("ended with 3")]);
    const none = await shop.run(["dlq", "edit", "i1"]);
    expect([none.code, none.stderr]).toEqual([
      2,
      expect.stringContaining("neither VISUAL nor EDITOR is set"),
    ]);
    const several = await shop.run(["dlq", "edit", "i1", "i2"], { env: { EDITOR: "true" } });
    expect([several.code, several.stderr]).toEqual([2, expect.stringContaining("--set path=CEL")]);
    expect((await inspect(shop, "i1")).revision).toBe(1);
  });

  it("a concurrent change is not overwritten", async () => {
    const shop = openWorkshop();
    await badUrls(shop, 1);
    const script = `${CLI} dlq edit i1 --patch '{"by": "somebody"}'; echo '{"by": "me"}' > "$1"`;
    const { code, stderr, stdout } = await shop.run(["dlq", "edit", "i1"], {
      env: { EDITOR: editor(shop, script) },
    });
    expect([code, stdout + stderr]).toEqual([3, expect.stringContaining("(revision 2)")]);
    expect((await inspect(shop, "i1")).item_data).toMatchObject({ by: "somebody" });
  });
});

describe("an edit of thousands that is killed", () => {
  it("continues with ops resume: every letter is changed once, from its own data", async () => {
    const shop = openWorkshop();
    await importLetters(shop, 3000);
    const args = ["dlq", "edit", "--set", "n=item.n + 1", "--yes"];
    const left = await killedInBetween(shop, args, { atLeast: 400 });
    expect(left).toMatchObject({ kind: "edit", status: "open", selected: 3000, refused: 0 });
    expect(left.done).toBeLessThan(3000);
    const ended = await shop.json<EditJson>("ops", "resume", left.id);
    expect(ended).toMatchObject({ status: "ended", selected: 3000, done: 3000, refused: 0, remaining: 0 });
    const engine = await openStore(shop.storeUrl);
    const { letters } = await engine.listLetters({ order: "oldest", limit: 5000 });
    await engine.close();
    expect(letters.map(({ itemData, revision }) => [itemData, revision])).toEqual(
      upTo(3000).map((n) => [{ n: n + 1 }, 2]),
    );
    expect(await shop.check()).toBe(SOUND);
  });
});
