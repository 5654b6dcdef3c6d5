/** Types of options: what each accepts, and what it refuses with the name of the option. */
import { describe, expect, it } from "vitest";
import {
  concurrency,
  count,
  endingOptions,
  list,
  ofJob,
  orNone,
  retries,
  share,
} from "../../src/cli/options.ts";
import { parseOptions } from "./parse-options.ts";

describe("options", () => {
  const options = {
    slots: concurrency("how many"),
    again: retries("how often"),
    limit: orNone(count("--limit <n>", "at most", 1)),
    part: share("--part <share>", "a share"),
    types: list("--type <types>", "types"),
    job: ofJob("of this job"),
    untilEmpty: endingOptions.untilEmpty,
  };
  const parse = (...words: string[]) => parseOptions(options, ...words);

  it("a count is a whole number not below its minimum", async () => {
    expect(await parse("-j", "8", "--retries", "0")).toEqual({ slots: 8, again: 0, untilEmpty: false });
    for (const text of ["0", "-1", "1.5", "eight", "", " 3", "1e3", "99999999999999999999"]) {
      await expect(parse(`--concurrency=${text}`)).rejects.toMatchObject({
        code: "usage",
        message: expect.stringContaining(`--concurrency: "${text}"`),
      });
    }
  });

  it("a share is a number from 0 to 1", async () => {
    for (const [text, part] of Object.entries({ "0.25": 0.25, ".5": 0.5, "1": 1 }))
      expect(await parse("--part", text)).toMatchObject({ part });
    for (const text of ["1.1", "-0.1", "20%", ""])
      await expect(parse(`--part=${text}`)).rejects.toMatchObject({ code: "usage" });
  });

  it("old names of options still work, and options that were not given are absent", async () => {
    for (const old of ["--jobs", "--parallel", "--max-parallel"])
      expect(await parse(old, "3")).toEqual({ slots: 3, untilEmpty: false });
    expect(await parse("--max-retries", "4", "--drain")).toEqual({ again: 4, untilEmpty: true });
    await expect(parse("--jobs", "3", "-j", "4")).rejects.toMatchObject({
      code: "commander.conflictingOption",
    });
  });

  it("a job is also called a queue, but not both", async () => {
    expect(await parse("--queue", "orders")).toMatchObject({ job: "orders" });
    await expect(parse("--queue", "a", "--job", "b")).rejects.toMatchObject({
      code: "commander.conflictingOption",
    });
  });

  it("an invalid value of an option gets its hint", async () => {
    await expect(parse("--limit", "many")).rejects.toMatchObject({
      message: expect.stringContaining('--limit: "many"'),
      hint: expect.stringContaining("--limit none"),
    });
  });

  it("none removes a setting, and a list is separated by commas or repeated", async () => {
    expect(await parse("--limit", "none", "--type", "a, b", "--type", "c")).toMatchObject({
      limit: null,
      types: ["a", "b", "c"],
    });
  });
});
