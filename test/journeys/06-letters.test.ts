/** The dead letter queue on the command line: letters are found, inspected and retried. */
import { describe, expect, it } from "vitest";
import {
  type ErrorJson,
  type LetterJson,
  type LetterPageJson,
  type OperationJson,
  openWorkshop,
  SOUND,
  type Summary,
  upTo,
  type Workshop,
} from "./workshop.ts";

const report = (json: object) => `printf '%s' '${JSON.stringify(json)}' > "$REDRIVE_FAILURE_FILE"`;

/** Two jobs: `plain` with four letters of two failures, `mixed` with a permanent one and a timeout-like one. */
async function twoJobs(shop: Workshop): Promise<void> {
  const flags = ["--id-field", "id", "--retries", "0", "-j", "1"];
  const plain = 'echo "$REDRIVE_ITEM_ID" >> $L; case $REDRIVE_ITEM_ID in p4) exit 9;; esac; exit 1';
  await shop.map(
    upTo(4).map((n) => ({ id: `p${n}` })),
    plain,
    ["--name", "plain", ...flags],
  );
  const mixed = `case $REDRIVE_ITEM_ID in m1) ${report({ type: "BusinessException", message: "no stock" })};; m2) ${report({ type: "ServerError", message: "HTTP 503" })};; esac; exit 1`;
  await shop.map([{ id: "m1" }, { id: "m2" }], mixed, ["--name", "mixed", ...flags]);
}

const ids = (letters: readonly LetterJson[]) => letters.map((letter) => letter.item_id);

describe("dlq list", () => {
  it("shows the letters of all jobs newest first, and finds them by their properties", async () => {
    const shop = openWorkshop();
    await twoJobs(shop);
    expect(ids(await shop.letters())).toEqual(["m2", "m1", "p4", "p3", "p2", "p1"]);
    expect(ids(await shop.letters("--job", "mixed"))).toEqual(["m2", "m1"]);
    expect(ids(await shop.letters("--limit", "9", "plain"))).toEqual(["p4", "p3", "p2", "p1"]);
    expect(ids(await shop.letters("--type", "BusinessException"))).toEqual(["m1"]);
    expect(ids(await shop.letters("--type", "businessexception,ServerError"))).toEqual(["m2", "m1"]);
    expect(ids(await shop.letters("--class", "permanent"))).toEqual(["m1"]);
    expect(ids(await shop.letters("--class", "transient,unknown"))).toEqual(["m2", "p4", "p3", "p2", "p1"]);
    expect(ids(await shop.letters("--eligible"))).toEqual(["m2", "p4", "p3", "p2", "p1"]);
    expect(ids(await shop.letters("--older-than", "0ms"))).toHaveLength(6);
    expect(await shop.letters("--older-than", "1h")).toEqual([]);
    const [, , p4] = await shop.letters();
    expect(ids(await shop.letters("--group", p4?.error_signature ?? ""))).toEqual(["p4"]);
    expect(ids(await shop.letters("--job", "plain", "--type", "ServerError"))).toEqual([]);
  });

  it("pages through all of them with --limit and --cursor, each once", async () => {
    const shop = openWorkshop();
    await shop.map(upTo(23), "false", ["--retries", "0"]);
    const seen: string[] = [];
    let cursor: string[] = [];
    for (;;) {
      const page = await shop.json<LetterPageJson>("dlq", "list", "--limit", "10", ...cursor);
      expect(page.total).toBe(23);
      seen.push(...ids(page.items));
      if (page.next === null) break;
      cursor = ["--cursor", page.next];
    }
    expect(new Set(seen).size).toBe(23);
    expect(seen).toHaveLength(23);
  });

  it("an invalid cursor is an error, not the first page", async () => {
    const shop = openWorkshop();
    await shop.map([1], "false", ["--retries", "0"]);
    const { code } = await shop.run(["dlq", "list", "--cursor", "page 2"]);
    expect(code).toBe(2);
  });

  it("is a table for people, and reports that there is nothing", async () => {
    const shop = openWorkshop();
    const empty = await shop.run(["dlq", "list"]);
    expect([empty.code, empty.stdout]).toEqual([0, "No letters.\n"]);
    await twoJobs(shop);
    const { stdout } = await shop.run(["dlq", "list", "--limit", "3"]);
    expect(stdout).toMatch(/BusinessException.*needs manual review/);
    expect(stdout).toContain("no stock");
    expect(stdout).toContain("3 of 6 letters");
  });
});

describe("dlq inspect and show", () => {
  it("shows everything of one letter, found by a prefix of its id", async () => {
    const shop = openWorkshop();
    const { job_id } = await shop.mapJson(["a.md"], 'echo "cannot read $1" >&2; exit 6', [
      "--retries",
      "1",
      "--backoff",
      "none",
    ]);
    const [letter] = await shop.letters();
    const prefix = (letter?.item_id ?? "").slice(0, 5);
    expect(await shop.json<LetterJson>("dlq", "inspect", prefix)).toMatchObject({
      ...letter,
      group_count: 1,
    });
    const { stdout } = await shop.run(["dlq", "inspect", prefix]);
    for (const text of [
      "a.md",
      "#1",
      "#2",
      "exit 6",
      "cannot read a.md",
      job_id,
      "out of retries (2 of 2 attempts used)",
      `redrive dlq retry ${job_id}`,
    ]) {
      expect(stdout).toContain(text);
    }
  });

  it("an ambiguous prefix lists the candidates", async () => {
    const shop = openWorkshop();
    await twoJobs(shop);
    const { code, stderr } = await shop.run(["dlq", "inspect", "p"]);
    expect(code).toBe(2);
    expect(stderr).toContain("p matches several items: p1");
    expect(stderr).toContain("Give a longer prefix of the id");
  });

  it("--job distinguishes the same id in two jobs", async () => {
    const shop = openWorkshop();
    for (const name of ["a", "b"])
      await shop.map([{ id: "x" }], "false", ["--id-field", "id", "--name", name, "--retries", "0"]);
    expect((await shop.run(["dlq", "inspect", "x"])).code).toBe(2);
    expect((await shop.json<LetterJson>("dlq", "inspect", "x", "--job", "b")).job_id).toMatch(/^b-/);
  });

  it("an item that is not a letter is not shown as one", async () => {
    const shop = openWorkshop();
    await shop.map([{ id: "fine" }], "true", ["--id-field", "id"]);
    const { code, stderr } = await shop.run(["dlq", "inspect", "fine"]);
    expect(code).toBe(4);
    expect(stderr).toContain("Item fine is not a letter: it is done.");
  });

  it("show takes a job or an item", async () => {
    const shop = openWorkshop();
    await twoJobs(shop);
    expect(ids((await shop.json<LetterPageJson>("dlq", "show", "mixed")).items)).toEqual(["m2", "m1"]);
    expect((await shop.json<LetterJson>("dlq", "show", "p3")).item_id).toBe("p3");
  });
});

describe("dlq retry", () => {
  const script = (shop: Workshop) => `echo "$1" >> $L; [ -e ${shop.path("fixed")} ]`;
  const flags = ["--retries", "0", "--name", "n"];

  it("runs the item's own work again; the letter leaves only on success", async () => {
    const shop = openWorkshop();
    await shop.map(["a", "b"], script(shop), flags);
    shop.write("fixed", "");
    const result = await shop.run(["dlq", "retry", "n", "--json"]);
    expect(result.code).toBe(0);
    expect(result.json<OperationJson>()).toMatchObject({
      selected: 2,
      redriven: 2,
      refused: 0,
      succeeded: 2,
      failed: 0,
      remaining: 0,
    });
    expect([...shop.ledger].sort()).toEqual(["a", "a", "b", "b"]);
    expect(await shop.letters()).toEqual([]);
    expect(await shop.json<Summary>("status", "n")).toMatchObject({ succeeded: 2, dead: 0, attempts: 4 });
    expect(await shop.events("--type", "dlq_item_removed")).toHaveLength(2);
  });

  it("an item that fails again is the same letter with a longer history", async () => {
    const shop = openWorkshop();
    await shop.map(["a"], script(shop), flags);
    for (const redrives of [1, 2]) {
      const result = await shop.run(["dlq", "retry", "n", "--json"]);
      expect(result.code).toBe(3);
      expect(result.json<OperationJson>()).toMatchObject({
        selected: 1,
        redriven: 1,
        succeeded: 0,
        failed: 1,
      });
      const [letter, ...more] = await shop.letters();
      expect(more).toEqual([]);
      expect(letter).toMatchObject({ redrive_count: redrives, failure_count: redrives + 1, state: "dead" });
      expect(letter?.failure_history.map((failure) => failure.attempt_number)).toEqual(upTo(redrives + 1));
    }
    expect(shop.ledger).toEqual(["a", "a", "a"]);
    expect(await shop.check()).toBe(SOUND);
  });

  it("gives a redriven letter new attempts", async () => {
    const shop = openWorkshop();
    await shop.map(["a"], "echo x >> $L; false", ["--retries", "2", "--backoff", "none", "--name", "n"]);
    await shop.run(["dlq", "retry", "n"]);
    expect(shop.ledger).toHaveLength(6);
  });

  it("refuses letters that are not eligible, which stay dead, until --force", async () => {
    const shop = openWorkshop();
    await twoJobs(shop);
    const refused = await shop.run(["dlq", "retry", "mixed", "--json"]);
    expect(refused.code).toBe(3);
    expect(refused.json<OperationJson>()).toMatchObject({ selected: 2, redriven: 1, refused: 1 });
    expect((await shop.json<LetterJson>("dlq", "inspect", "m1")).failure_count).toBe(1);
    const text = await shop.run(["dlq", "retry", "mixed", "m1"]);
    expect(text.stdout).toContain("1 refused (not eligible; --force overrides)");
    const forced = await shop.run(["dlq", "retry", "mixed", "m1", "--force", "--json"]);
    expect(forced.json<OperationJson>()).toMatchObject({ selected: 1, redriven: 1, refused: 0, failed: 1 });
    expect((await shop.json<LetterJson>("dlq", "inspect", "m1")).failure_count).toBe(2);
  });

  it("retries a letter with corrected data without --force, until the edit is undone", async () => {
    const shop = openWorkshop();
    await twoJobs(shop);
    const edit = ["dlq", "edit", "m1", "--job", "mixed", "--set", '.="another"', "--yes"];
    const { operation_id: id } = await shop.json<{ operation_id: string }>(...edit);
    expect(ids(await shop.letters("--job", "mixed", "--eligible"))).toContain("m1");
    await shop.json("ops", "undo", id);
    expect(ids(await shop.letters("--job", "mixed", "--eligible"))).not.toContain("m1");
    await shop.run(edit);
    const retried = await shop.run(["dlq", "retry", "mixed", "m1", "--json"]);
    expect(retried.json<OperationJson>()).toMatchObject({ selected: 1, redriven: 1, refused: 0 });
  });

  it("retries only the named items, or those that the filter selects", async () => {
    const shop = openWorkshop();
    await twoJobs(shop);
    const before = shop.ledger.length;
    await shop.run(["dlq", "retry", "plain", "p2", "p3"]);
    expect(shop.ledger.slice(before).sort()).toEqual(["p2", "p3"]);
    const [p4] = await shop.letters("--job", "plain", "--type", "CommandFailed");
    const group = p4?.error_signature ?? "";
    const expected = ids(await shop.letters("--group", group)).sort();
    const after = shop.ledger.length;
    await shop.run(["dlq", "reprocess", "plain", "--group", group]);
    expect(shop.ledger.slice(after).sort()).toEqual(expected);
    const last = shop.ledger.length;
    const none = await shop.run(["dlq", "retry", "plain", "--older-than", "1h"]);
    expect(none.stdout).toContain("No letters of plain-");
    await shop.run(["dlq", "retry", "plain", "--class", "permanent"]);
    expect(shop.ledger).toHaveLength(last);
  });

  it("is an error before anything runs if none of the items exists", async () => {
    const shop = openWorkshop();
    await twoJobs(shop);
    const before = shop.ledger.length;
    const { code, stderr } = await shop.run(["dlq", "retry", "plain", "p9", "p8"]);
    expect(code).toBe(4);
    expect(stderr).toContain("There is no item p9");
    expect(shop.ledger).toHaveLength(before);
  });

  it("--dry-run reports what it would do and changes nothing", async () => {
    const shop = openWorkshop();
    await twoJobs(shop);
    const [ledger, letters, events] = [shop.ledger, await shop.letters(), await shop.events()];
    const { code, stdout } = await shop.run(["dlq", "retry", "mixed", "--dry-run"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Would retry 1 letter of mixed-\w+; 1 would be refused/);
    expect(await shop.json("dlq", "retry", "plain", "--dry-run")).toMatchObject({
      dry_run: true,
      selected: 4,
      redriven: 4,
    });
    expect(shop.ledger).toEqual(ledger);
    expect(await shop.letters()).toEqual(letters);
    expect(await shop.events()).toEqual(events);
  });

  it("--parallel is the number of concurrent items", async () => {
    const shop = openWorkshop();
    const gate = shop.path("gate");
    const body = `[ -e ${shop.path("fixed")} ] || exit 1; echo in >> $L; while [ ! -e ${gate} ]; do sleep 0.02; done`;
    await shop.map(upTo(5), body, ["-j", "1", "--retries", "0", "--name", "n"]);
    shop.write("fixed", "");
    const running = shop.start(["dlq", "retry", "n", "--parallel", "3", "--json"], { stdin: "" });
    await shop.untilLedger("three have begun", (lines) => lines.length >= 3);
    expect((await shop.letters()).filter((letter) => letter.state === "leased")).toHaveLength(3);
    expect(shop.ledger).toHaveLength(3);
    shop.write("gate", "");
    expect((await running.ended).json<OperationJson>()).toMatchObject({ succeeded: 5 });
  });

  it("without a job takes the only one with letters, and is refused if there are several", async () => {
    const shop = openWorkshop();
    await shop.map(["a"], script(shop), flags);
    expect((await shop.json<OperationJson>("dlq", "retry")).selected).toBe(1);
    await shop.map(["b"], "false", ["--retries", "0", "--name", "other"]);
    const result = await shop.run(["dlq", "retry", "--json"]);
    expect(result.code).toBe(2);
    const { error } = result.json<ErrorJson>();
    expect(error.code).toBe("ambiguous");
    expect(error.message).toMatch(/2 jobs have letters: .*n-\w+ \(1\)/);
  });

  it("pitfall 49: that was interrupted loses nothing: pending letters are still letters, and resume continues", async () => {
    const shop = openWorkshop();
    const body = `[ -e ${shop.path("fixed")} ] || exit 1; echo "$1" >> $L; [ -e ${shop.path("fast")} ] || exec sleep 300`;
    await shop.map(upTo(4), body, ["-j", "1", "--retries", "0", "--name", "n"]);
    shop.write("fixed", "");
    const running = shop.start(["dlq", "retry", "n"], { stdin: "" });
    await shop.untilLedger("one has begun", (lines) => lines.length === 1);
    running.signal("SIGINT");
    expect((await running.ended).code).toBe(130);
    expect(await shop.letters()).toHaveLength(4);
    shop.write("fast", "");
    expect((await shop.run(["resume", "n"])).code).toBe(0);
    expect(await shop.letters()).toEqual([]);
    expect(await shop.json<Summary>("status", "n")).toMatchObject({ succeeded: 4, dead: 0 });
    expect(await shop.check()).toBe(SOUND);
  });
});
