/** The age of a letter: from its first failure or from its last one, in every command that selects letters. */
import { describe, expect, it } from "vitest";
import { openWorkshop, type Workshop } from "./workshop.ts";

const HOUR_MS = 3_600_000;

/** One letter failed first two days and last an hour ago, one first and last three hours ago. */
async function withLetters(): Promise<Workshop> {
  const shop = openWorkshop();
  const ago = (hours: number) => new Date(Date.now() - hours * HOUR_MS).toISOString();
  const letter = (id: string, first: number, last: number) => ({
    item_id: id,
    item_data: { id },
    first_attempt: ago(first),
    last_attempt: ago(last),
    failure_count: 2,
    failure_history: [{ timestamp: ago(last), error_type: "Timeout", error_message: "timed out" }],
    job_id: "imported-job",
  });
  shop.write("letters.json", JSON.stringify([letter("early", 48, 1), letter("late", 3, 3)]));
  expect((await shop.run(["dlq", "import", "letters.json"])).code).toBe(0);
  return shop;
}

describe("the age of a letter", () => {
  it("counts from the first failure, and from the last with --age-of last", async () => {
    const shop = await withLetters();
    const ids = async (...flags: string[]) => (await shop.letters(...flags)).map(({ item_id }) => item_id);
    expect(await ids("--older-than", "1d")).toEqual(["early"]);
    expect(await ids("--newer-than", "1d")).toEqual(["late"]);
    expect(await ids("--older-than", "2h", "--age-of", "last")).toEqual(["late"]);
    expect(await ids("--newer-than", "2h", "--age-of", "last")).toEqual(["early"]);
    expect(await ids("--older-than", "2h", "--newer-than", "1d")).toEqual(["late"]);
    expect(await ids("--older-than", "1d", "--filter", "item.id == 'early'")).toEqual(["early"]);
    expect(await ids("--older-than", "1d", "--search", "timed")).toEqual(["early"]);
  });

  it("is the same in commands that change letters", async () => {
    const shop = await withLetters();
    const selected = async (...words: string[]) =>
      (await shop.run(["dlq", ...words, "--dry-run", "--json"])).json<{ selected: number }>().selected;
    expect(await selected("purge", "imported-job", "--older-than", "1d")).toBe(1);
    expect(await selected("purge", "imported-job", "--older-than", "1d", "--age-of", "last")).toBe(0);
    expect(await selected("discard", "--job", "imported-job", "--newer-than", "1d", "--reason", "x")).toBe(1);
    const discarded = await shop.run([
      ...["dlq", "discard", "--job", "imported-job", "--older-than", "1d", "--reason", "old", "--yes"],
    ]);
    expect(discarded.code).toBe(0);
    expect((await shop.letters()).map(({ item_id }) => item_id)).toEqual(["late"]);
    const closed = await shop.letters("--state", "discarded", "--older-than", "1d");
    expect(closed.map(({ item_id }) => item_id)).toEqual(["early"]);
  });

  it.each([
    [["--age-of", "middle", "--older-than", "1h"], /--age-of: .*"middle".*first, last/s],
    [["--age-of", "last"], /--age-of/],
    [["--newer-than", "soon"], /--newer-than/],
  ])("%j is an error and selects nothing", async (flags, message) => {
    const shop = openWorkshop();
    const refused = await shop.run(["dlq", "list", ...flags]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(message);
  });
});
