/** Automatic fixes: which letters a rule is for, what it makes of them, and that nothing is fixed for ever. */
import { existsSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import type { FixChange, FixRule } from "../../src/redrive/fix.ts";
import { applyFixes, type FixMatch, type FixRequest, planFixes } from "../../src/redrive/fix.ts";
import { AUTHOR, QUEUE, type Workbench } from "../conformance/workbench.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { until } from "../support/until.ts";
import { buryData, openBench, ruleOf, workOff } from "./fix-kit.ts";

const temporary = new TemporaryDirectory();
afterAll(() => temporary.remove());

const request = (...rules: readonly FixRule[]): FixRequest => ({ queue: QUEUE, rules, author: AUTHOR });

/** A program in Node that gets what stands on its stdin as `given`. */
function program(body: string, timeoutMs = 20_000): FixChange {
  const file = temporary.file("fix.mjs");
  writeFileSync(
    file,
    `const given = JSON.parse((await import("node:fs")).readFileSync(0, "utf8"));\n${body}`,
  );
  return { kind: "command", command: [process.execPath, file], cwd: temporary.path, timeoutMs };
}

const dataOf = async (bench: Workbench, itemId: string) => (await bench.item(itemId)).data;

async function planOf(bench: Workbench, ...rules: readonly FixRule[]): Promise<FixMatch[]> {
  const matches: FixMatch[] = [];
  for await (const match of planFixes(bench.engine, request(...rules))) matches.push(match);
  return matches;
}

describe("the data that a rule produces", () => {
  test.each<[string, FixChange, unknown]>([
    [
      "set",
      { kind: "set", set: { "a.b": "item.a.b + 1", why: "failure.error_message" } },
      { a: { b: 2, c: 3 }, why: "attempt 1 failed with exit code 101" },
    ],
    ["a merge patch", { kind: "patch", patch: { a: { c: null }, n: [1] } }, { a: { b: 1 }, n: [1] }],
    [
      "a command",
      program(
        "console.log(JSON.stringify([given.item.a.b, given.letter.item_id, given.letter.failure_history.length]))",
      ),
      [1, "x", 1],
    ],
  ])("%s", async (_name, change, after) => {
    const bench = await openBench();
    await buryData(bench, { x: { a: { b: 1, c: 3 } } });
    const [applied] = await applyFixes(bench.engine, request(ruleOf(change)));
    expect(applied).toMatchObject({
      rule: "repair",
      edit: { status: "ended", selected: 1, done: 1, refused: 0 },
    });
    expect(await dataOf(bench, "x")).toEqual(after);
    expect(await bench.letter("x")).toMatchObject({
      state: "dead", // until somebody sends it
      amendments: [
        { rule: "repair", author: AUTHOR, operationId: applied?.edit.id, before: { a: { b: 1, c: 3 } } },
      ],
    });
    expect(await workOff(bench, applied?.redrive)).toMatchObject({ selected: 1, succeeded: 1 });
    expect(await bench.letter("x")).toMatchObject({ state: "done", resolution: { kind: "auto_fix" } });
    expect(await bench.told("dlq_rule_applied")).toMatchObject([
      { queue: QUEUE, data: { rule: "repair", count: 1, refused: 0, operation_id: applied?.redrive?.id } },
    ]);
  });
});

describe("the letters of a rule", () => {
  const patch: FixChange = { kind: "patch", patch: { fixed: true } };

  async function idsFor(bench: Workbench, match: FixRule["match"]): Promise<string[]> {
    return (await planOf(bench, ruleOf(patch, { match }))).map(({ letter }) => letter.itemId);
  }

  test("must match type, class, group and CEL; the oldest come first", async () => {
    const bench = await openBench();
    await buryData(bench, { a: { n: 1 }, b: { n: 2 } });
    await buryData(
      bench,
      { c: { n: 3 } },
      { errorType: "Timeout", errorClass: "transient", signature: "00000000000000cc" },
    );
    expect(await idsFor(bench, { filter: { types: ["CommandFailed", "Timeout"] } })).toEqual(["a", "b", "c"]);
    expect(await idsFor(bench, { filter: { types: ["Timeout"] } })).toEqual(["c"]);
    expect(await idsFor(bench, { filter: { classes: ["transient"] } })).toEqual(["c"]);
    expect(await idsFor(bench, { filter: { signatures: ["00000000000000cc"] } })).toEqual(["c"]);
    expect(await idsFor(bench, { filter: {}, where: "item.n >= 2" })).toEqual(["b", "c"]);
    expect(await idsFor(bench, { filter: { types: ["Timeout"] }, where: "item.n < 3" })).toEqual([]);
  });

  test("are narrowed by the user's selection", async () => {
    const bench = await openBench();
    await buryData(bench, { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } });
    const rule = ruleOf(patch, { match: { filter: { types: ["CommandFailed"] }, where: "item.n > 1" } });
    const ids = async (within: FixRequest["within"]) => {
      const found: string[] = [];
      for await (const { letter } of planFixes(bench.engine, {
        ...request(rule),
        ...(within && { within }),
      })) {
        found.push(letter.itemId);
      }
      return found;
    };
    expect(await ids(undefined)).toEqual(["b", "c"]);
    expect(await ids({ filter: {}, where: "item.n < 3" })).toEqual(["b"]);
    expect(await ids({ filter: { itemIds: ["a", "c"] } })).toEqual(["c"]);
    expect(await ids({ filter: { types: ["Timeout"] } })).toEqual([]); // nothing in common is nothing, not everything
  });

  test("exclude letters that are resolved, in retry or poison", async () => {
    const bench = await openBench();
    await buryData(bench, { gone: {}, sent: {}, meant: {} });
    await buryData(bench, { poison: {} }, { poison: true });
    await bench.operate("discard", ["gone"], { reason: "old" });
    await bench.operate("redrive", ["sent"]);
    expect(await idsFor(bench, { filter: { types: ["CommandFailed"] } })).toEqual(["meant"]);
  });

  test("include letters that need manual review, because a person wrote the rule", async () => {
    const bench = await openBench();
    await buryData(bench, { a: {} }, { reprocessEligible: false, manualReviewRequired: true });
    const [applied] = await applyFixes(bench.engine, request(ruleOf(patch)));
    expect(await workOff(bench, applied?.redrive)).toMatchObject({ refused: 0, succeeded: 1 });
  });

  test("are taken by the first matching rule; another one may follow when they fail again", async () => {
    const bench = await openBench();
    await buryData(bench, { a: {}, b: {} });
    const first = ruleOf({ kind: "patch", patch: { by: "first" } }, { name: "first" });
    const second = ruleOf({ kind: "patch", patch: { by: "second" } }, { name: "second" });
    expect((await planOf(bench, first, second)).map(({ rule }) => rule.name)).toEqual(["first", "first"]);
    const applied = await applyFixes(bench.engine, request(first, second));
    expect(applied.map(({ rule, edit }) => [rule, edit.done])).toEqual([["first", 2]]);
    await workOff(bench, applied[0]?.redrive, ["a"]);
    const again = await applyFixes(bench.engine, request(first, second));
    expect(again.map(({ rule, edit }) => [rule, edit.done])).toEqual([["second", 1]]);
    expect(await dataOf(bench, "a")).toEqual({ by: "second" });
  });

  test("that the first rule refuses are tried with the next", async () => {
    const bench = await openBench();
    await buryData(bench, { a: {} });
    const first = ruleOf(program("process.exit(3)"), { name: "first" });
    const second = ruleOf({ kind: "patch", patch: { by: "second" } }, { name: "second" });
    expect((await planOf(bench, first, second)).map(({ rule, answer }) => [rule.name, answer.ok])).toEqual([
      ["first", false],
      ["second", true],
    ]);
    await applyFixes(bench.engine, request(first, second));
    expect(await dataOf(bench, "a")).toEqual({ by: "second" });
  });
});

describe("max_uses", () => {
  test("limits the uses of a rule on a letter, however often it fails again", async () => {
    const bench = await openBench();
    await buryData(bench, { a: { n: 0 } });
    const rule = ruleOf({ kind: "set", set: { n: "item.n + 1" } }, { usesMax: 2 });
    for (const uses of [1, 2]) {
      const [applied] = await applyFixes(bench.engine, request(rule));
      await workOff(bench, applied?.redrive, ["a"]);
      expect(await dataOf(bench, "a")).toEqual({ n: uses });
    }
    expect(await applyFixes(bench.engine, request(rule))).toEqual([]);
    expect(await planOf(bench, rule)).toEqual([]);
  });

  test("counts a use without a change too", async () => {
    const bench = await openBench();
    await buryData(bench, { a: { n: 0 } });
    const rule = ruleOf({ kind: "patch", patch: { n: 0 } });
    const [applied] = await applyFixes(bench.engine, request(rule));
    expect(await workOff(bench, applied?.redrive, ["a"])).toMatchObject({ failed: 1 });
    const letter = await bench.letter("a");
    expect(letter).toMatchObject({ revision: 1, notes: [{ author: "fix repair" }] });
    expect(await applyFixes(bench.engine, request(rule))).toEqual([]);
  });
});

describe("a failing command of a rule", () => {
  test.each<[string, FixChange, RegExp]>([
    [
      "an exit code",
      program("console.error('first'); console.error('no such user'); process.exit(3)"),
      /^\S*node ended with exit code 3: no such user$/,
    ],
    ["not JSON", program("console.log('done')"), /^\S*node .*JSON: done$/],
    ["nothing", program(""), /^\S*node .*JSON: \(no output\)$/],
    ["no end", program("setInterval(() => {}, 1000)", 300), /took longer than 300 ms$/],
    [
      "no such program",
      { kind: "command", command: ["./missing"], cwd: temporary.path, timeoutMs: 1000 },
      /^\.\/missing cannot be run: .*ENOENT/,
    ],
  ])("%s: the letter stays as it is, and the reason is kept", async (_name, change, reason) => {
    const bench = await openBench();
    await buryData(bench, { a: { n: 0 } });
    const [applied] = await applyFixes(bench.engine, request(ruleOf(change)));
    expect(applied).toMatchObject({ edit: { status: "ended", done: 0, refused: 1 } });
    expect(applied?.redrive).toBeUndefined();
    const [refusal] = await bench.engine.listRefusals(applied?.edit.id ?? "");
    expect(refusal?.reason).toMatch(reason);
    expect(await bench.letter("a")).toMatchObject({ state: "dead", revision: 1, itemData: { n: 0 } });
    expect(await bench.told("dlq_rule_applied")).toEqual([]);
  });

  test("refuses one letter and fixes the others", async () => {
    const bench = await openBench();
    await buryData(bench, { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } });
    const change = program(
      "if (given.item.n === 2) process.exit(1); console.log(JSON.stringify({ n: given.item.n * 10 }))",
    );
    const [applied] = await applyFixes(bench.engine, request(ruleOf(change)));
    expect(applied).toMatchObject({ edit: { selected: 3, done: 2, refused: 1 }, redrive: { selected: 2 } });
    expect([await dataOf(bench, "a"), await dataOf(bench, "b"), await dataOf(bench, "c")]).toEqual([
      { n: 10 },
      { n: 2 },
      { n: 30 },
    ]);
  });
});

describe("a preview", () => {
  test("shows the result for each letter, and changes nothing", async () => {
    const bench = await openBench();
    await buryData(bench, { a: { n: 1 } });
    const before = await bench.lastEvent();
    const change = program("console.log(JSON.stringify({ dry: process.env.REDRIVE_DRY_RUN ?? null }))");
    expect(await planOf(bench, ruleOf(change))).toMatchObject([
      { rule: { name: "repair" }, letter: { itemId: "a" }, answer: { ok: true, data: { dry: "1" } } },
    ]);
    expect(await bench.lastEvent()).toBe(before);
    expect(await bench.engine.listOperations({ queue: QUEUE })).toEqual([]);
    expect(await bench.letter("a")).toMatchObject({ revision: 1, itemData: { n: 1 } });
  });
});

describe("after a crash", () => {
  test("the next use changes and sends what was selected and not yet changed", async () => {
    const bench = await openBench();
    await buryData(bench, { a: { n: 1 }, b: { n: 2 } });
    const [started, free] = [temporary.file("started"), temporary.file("free")];
    const change = program(`
      const { existsSync, writeFileSync } = await import("node:fs");
      if (existsSync(${JSON.stringify(free)})) console.log(JSON.stringify({ ok: true }));
      else { writeFileSync(${JSON.stringify(started)}, ""); setInterval(() => {}, 1000); }`);
    const stop = new AbortController();
    const interrupted = applyFixes(bench.engine, { ...request(ruleOf(change)), signal: stop.signal });
    await until("the command runs", () => existsSync(started));
    stop.abort();
    expect(await interrupted).toMatchObject([{ edit: { status: "open", selected: 2, done: 0, refused: 0 } }]);
    writeFileSync(free, "");
    const [applied] = await applyFixes(bench.engine, request()); // the rule itself is gone from the settings
    expect(applied).toMatchObject({
      rule: "repair",
      edit: { status: "ended", done: 2 },
      redrive: { selected: 2 },
    });
    expect(await dataOf(bench, "b")).toEqual({ ok: true });
  });

  test("the next use sends changed letters whose redrive had not begun", async () => {
    const bench = await openBench();
    await buryData(bench, { a: { n: 1 } });
    const rule = ruleOf({ kind: "patch", patch: { ok: true } });
    const dying = Object.assign(Object.create(bench.engine), {
      beginOperation: (operation: { kind: string }) =>
        operation.kind === "redrive"
          ? Promise.reject(new Error("killed"))
          : bench.engine.beginOperation(operation as never),
    });
    await expect(applyFixes(dying, request(rule))).rejects.toThrow("killed");
    expect(await bench.letter("a")).toMatchObject({ state: "dead", itemData: { n: 1, ok: true } });
    const [applied, ...more] = await applyFixes(bench.engine, request(rule));
    expect(more).toEqual([]);
    expect(await workOff(bench, applied?.redrive)).toMatchObject({ selected: 1, succeeded: 1 });
    expect(await bench.letter("a")).toMatchObject({ revision: 2, resolution: { kind: "auto_fix" } });
  });
});
