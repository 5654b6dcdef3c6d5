/** The options that select letters. Invalid input never means "all". */
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import {
  checkSelection,
  jobFrom,
  onlyJobWithLetters,
  resolveBulk,
  selectionOptions,
} from "../../src/cli/selection.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import { newItem, QUEUE, Workbench } from "../conformance/workbench.ts";
import { buried } from "../support/settlements.ts";
import { TestClock } from "../support/test-clock.ts";
import { parseOptions } from "./parse-options.ts";

const WRONG = [
  "--group=",
  "--group=160a1b209e7483b4,",
  "--type=Nonsense",
  "--type=Timeout,",
  "--type=",
  "--class=permanent,",
  "--class=perm",
  "--state=gone",
  "--state=skipped",
  "--state=",
  "--attempts=",
  "--attempts=..",
  "--attempts=many",
  "--attempts=5..2",
  "--attempts=-1",
  "--attempts=1.5",
  "--search= ",
  "--filter=",
  "--filter= ",
  "--age-of=middle",
  "--age-of=last",
];

describe("a selection", () => {
  const select = async (...words: string[]) => checkSelection(await parseOptions(selectionOptions, ...words));

  test("is the filter of its options", async () => {
    const words = ["--type", "timeout,CommandFailed", "--class", "Outage", "--state", "dead,Resolved"];
    const more = ["--older-than", "2h", "--attempts", "2..5", "--eligible", "--search", "Connection"];
    expect(await select(...words, ...more, "--filter", "item.size > 3")).toEqual({
      filter: {
        types: ["Timeout", "CommandFailed"],
        classes: ["outage"],
        states: ["dead", "done"],
        olderThanMs: 7_200_000,
        attemptsMin: 2,
        attemptsMax: 5,
        eligible: true,
        text: "Connection",
      },
      where: "item.size > 3",
    });
    expect(await select()).toEqual({ filter: {} });
  });

  test.each([
    ["3", { attemptsMin: 3, attemptsMax: 3 }],
    ["3..", { attemptsMin: 3 }],
    ["..5", { attemptsMax: 5 }],
    ["2..2", { attemptsMin: 2, attemptsMax: 2 }],
  ])("--attempts %s is a range", async (attempts, filter) => {
    expect(await select("--attempts", attempts)).toEqual({ filter });
  });

  test("all states of a letter are accepted, with the names of other products", async () => {
    expect((await select("--state", "all")).filter.states).toEqual(
      expect.arrayContaining(["dead", "ready", "leased", "discarded", "done"]),
    );
    expect((await select("--state", "Failed,queued")).filter.states).toEqual(["dead", "ready"]);
  });

  it("invariant 10: an invalid filter is an error, never everything", async () => {
    for (const word of WRONG)
      await expect(select(word), word).rejects.toMatchObject({ code: "filter_invalid" });
  });

  test("an invalid duration is refused", async () => {
    await expect(select("--older-than", "yesterday")).rejects.toMatchObject({ code: "usage" });
  });
});

describe("the job of a command", () => {
  let bench: Workbench;

  beforeEach(async () => {
    const clock = new TestClock();
    bench = new Workbench(openMemoryEngine({ clock }), clock);
    await bench.job(QUEUE);
    await bench.job("job-2");
    await bench.registerHolder();
  });

  afterEach(() => bench.close());

  async function buryIn(queue: string, ...itemIds: readonly string[]): Promise<void> {
    await bench.engine.add(queue, itemIds.map(newItem));
    for (const _ of itemIds) await bench.settle(buried(await bench.leaseOne("holder-1", queue)));
  }

  type Bulk = Parameters<typeof resolveBulk>;
  const bulk = (words: Bulk[1], options?: Bulk[2]) => resolveBulk(bench.engine, words, options);

  it("is the named one, however it is named, unless two names contradict", async () => {
    expect((await jobFrom(bench.engine, QUEUE, {}))?.id).toBe(QUEUE);
    expect((await jobFrom(bench.engine, `name of ${QUEUE}`, { job: QUEUE, queue: QUEUE }))?.id).toBe(QUEUE);
    expect(await jobFrom(bench.engine, undefined, {})).toBeNull();
    await expect(jobFrom(bench.engine, QUEUE, { job: "job-2" })).rejects.toMatchObject({ code: "usage" });
    await expect(jobFrom(bench.engine, undefined, { queue: `name of ${QUEUE}` })).rejects.toMatchObject({
      code: "job_not_found",
    });
  });

  it("is the only one with letters; if there are several, the error lists them with their numbers", async () => {
    await expect(onlyJobWithLetters(bench.engine)).rejects.toMatchObject({ code: "item_not_found" });
    await buryIn(QUEUE, "a", "b");
    expect((await bulk({})).job.id).toBe(QUEUE);
    await buryIn("job-2", "c");
    await expect(bulk({})).rejects.toMatchObject({
      code: "ambiguous",
      message: "2 jobs have letters: job-1 (2), job-2 (1).",
    });
  });

  it("is the only one with letters that match the filter", async () => {
    await buryIn(QUEUE, "a", "b");
    await bench.engine.add("job-2", [newItem("c")]);
    await bench.settle(buried(await bench.leaseOne("holder-1", "job-2"), { reprocessEligible: false }));
    expect((await bulk({ eligible: true })).job.id).toBe(QUEUE);
    await expect(bulk({ text: "no such text" })).rejects.toMatchObject({ message: "No letter matches." });
    await expect(bulk({ types: ["CommandFailed"] })).rejects.toMatchObject({
      message: "2 jobs have such letters: job-1 (2), job-2 (1).",
    });
  });

  it("for a command on resolved letters is the only one with such letters", async () => {
    await buryIn(QUEUE, "a", "b");
    await buryIn("job-2", "c");
    await bench.operate("discard", ["a"]);
    expect((await bulk({}, { states: ["discarded"] })).job.id).toBe(QUEUE);
    expect((await bulk({ states: ["discarded"] })).job.id).toBe(QUEUE);
    await expect(bulk({}, { states: ["done"] })).rejects.toMatchObject({
      message: "No letter is resolved.",
    });
  });

  it("is the job of the named items, and the first word may be an item", async () => {
    await buryIn(QUEUE, "a", "b");
    await buryIn("job-2", "c");
    const { job, selection } = await bulk({ name: "c", items: [], types: ["CommandFailed"] });
    expect(job.id).toBe("job-2");
    expect(selection).toEqual({ filter: { types: ["CommandFailed"], queue: "job-2", itemIds: ["c"] } });
    expect((await bulk({ items: ["a", "b"] })).selection.filter.itemIds).toEqual(["a", "b"]);
    await expect(bulk({ items: ["a", "c"] })).rejects.toMatchObject({ code: "item_not_found" });
    await expect(bulk({ name: "nobody", items: [] })).rejects.toMatchObject({
      code: "job_not_found",
      message: expect.stringContaining("nobody"),
    });
  });

  it("an invalid expression is refused before anything is read", async () => {
    await expect(bulk({ name: "nobody", where: "itm.x >" })).rejects.toMatchObject({
      code: "filter_invalid",
    });
  });
});
