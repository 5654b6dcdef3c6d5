/** Every mistake that a file of settings can have, with the place and the words in which it is told. */
import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/config/read-config.ts";
import { RedriveError } from "../../src/errors.ts";

/** The problems of a text as lines. */
async function problemsOf(text: string): Promise<string[]> {
  try {
    await readConfig(text, "r.yml");
    return [];
  } catch (error) {
    if (!(error instanceof RedriveError) || error.code !== "usage") throw error;
    return error.message
      .split("\n")
      .slice(1)
      .map((line) => line.trim());
  }
}

test("all problems are reported at once, in line order, with suggestions", async () => {
  const text = `dlq:
  max_itms: 10
  retention_days: soon
fixs: []
fixes:
  - name: one
    match: { typ: Timeout, class: transent }
    set: { url: itm.url }
`;
  expect(await problemsOf(text)).toEqual([
    'r.yml:2:3: dlq.max_itms: unknown key "max_itms". Did you mean max_items?',
    "r.yml:3:19: dlq.retention_days: expected a whole number of days of at least 1, or none",
    'r.yml:4:1: fixs: unknown key "fixs". Did you mean fixes?',
    'r.yml:7:14: fixes[0].match.typ: unknown key "typ". Did you mean type?',
    "r.yml:7:35: fixes[0].match.class: expected one of transient, throttled, outage, permanent, unknown. Did you mean transient?",
    'r.yml:8:17: fixes[0].set.url: unknown variable "itm". Did you mean item?',
  ]);
});

test("the message has the number of problems, and says that nothing was changed", async () => {
  await expect(readConfig("dlq: { mirror: 3 }", "/x/redrive.yml")).rejects.toMatchObject({
    code: "usage",
    message:
      "/x/redrive.yml has a problem:\n  /x/redrive.yml:1:16: dlq.mirror: expected true or false, but this is a number",
    hint: "Correct the file and run the command again. Nothing was done.",
  });
});

describe("limits", () => {
  test.each(["0", "-1", "1.5", "all", "[1]"])("max_items: %s is refused", async (value) => {
    expect(await problemsOf(`dlq: { max_items: ${value} }`)).toEqual([
      "r.yml:1:19: dlq.max_items: expected a whole number of at least 1, or none",
    ]);
  });
});

describe("a text that is not a mapping", () => {
  test.each([
    ["[1, 2]", "r.yml:1:1: settings must be a mapping with keys such as dlq and fixes"],
    ["dlq: {", /^r\.yml:1:7: /],
    ["dlq: {}\ndlq: {}", "r.yml:2:1: this key is duplicated"],
  ])("%j", async (text, problem) => {
    const problems = await problemsOf(text);
    expect(problems).toEqual([typeof problem === "string" ? problem : expect.stringMatching(problem)]);
  });
});

describe("fixes", () => {
  const fix = (...lines: string[]) =>
    ["fixes:", "  - name: one", ...lines.map((line) => `    ${line}`)].join("\n");

  test.each([
    [["match: { type: Timeout }"], "r.yml:2:5: fixes[0]: a fix needs a change: set, patch, command"],
    [
      ["match: { type: Timeout }", "patch: { a: 1 }", "command: [x]"],
      "r.yml:5:5: fixes[0].command: a fix can have only one change, and this one already has patch",
    ],
    [["patch: { a: 1 }"], 'r.yml:2:5: fixes[0]: the key "match" is missing'],
    [
      ["match: {}", "patch: { a: 1 }"],
      "r.yml:3:12: fixes[0].match: this would match every letter; add group, type, class or filter",
    ],
    [
      ["match: { filter: itm.a }", "patch: { a: 1 }"],
      'r.yml:3:22: fixes[0].match.filter: unknown variable "itm". Did you mean item?',
    ],
    [
      ["match: { filter: letter.eror_pattern == item.x }", "patch: { a: 1 }"],
      'r.yml:3:29: fixes[0].match.filter: unknown field "eror_pattern". Did you mean error_pattern?',
    ],
    [["match: { type: Timeout }", "set: {}"], "r.yml:4:10: fixes[0].set: this changes nothing"],
    [
      ["match: { type: Timeout }", 'set: { "a b": item.x }'],
      'r.yml:4:12: fixes[0].set.a b: the path "a b" is invalid at character 2',
    ],
    [
      ["match: { type: Timeout }", "patch: { a: 1 }", "timeout: 3s"],
      "r.yml:5:5: fixes[0].timeout: timeout has no effect without command",
    ],
    [
      ["match: { type: Timeout }", "command: []"],
      "r.yml:4:14: fixes[0].command: expected a program and its arguments",
    ],
    [
      ["match: { type: Timeout }", "command: [x]", "max_uses: 0"],
      "r.yml:5:15: fixes[0].max_uses: expected a whole number of at least 1",
    ],
    [["match: { type: [] }", "command: [x]"], "r.yml:3:20: fixes[0].match.type: expected at least one"],
  ])("%j", async (lines, problem) => {
    expect(await problemsOf(fix(...lines))).toEqual([problem]);
  });

  test("two fixes with the same name are refused", async () => {
    const text = `${fix("match: { type: Timeout }", "patch: {a: 1}")}
  - { name: one, match: { type: Timeout }, patch: {a: 2} }`;
    expect(await problemsOf(text)).toEqual([
      'r.yml:5:13: fixes[1].name: the name "one" is already used by another fix',
    ]);
  });
});
