/** The `groups` of the settings: what they become, and every mistake with its place. */
import { expect, test } from "vitest";
import { readConfig } from "../../src/config/read-config.ts";

const groupsOf = async (text: string) => (await readConfig(text, "r.yml")).groups;

test("rules keep their order, and one word means the same as a list of one", async () => {
  const text = `
groups:
  - name: storage
    match: { type: CommandFailed, class: [transient, outage], step: copy, text: Disk full, pattern: 'sd[a-z]\\d' }
  - { name: " network ", match: { type: [Timeout, TransportError] } }
`;
  expect(await groupsOf(text)).toEqual([
    {
      name: "storage",
      match: {
        types: ["CommandFailed"],
        classes: ["transient", "outage"],
        steps: ["copy"],
        text: "Disk full",
        pattern: "sd[a-z]\\d",
      },
    },
    { name: "network", match: { types: ["Timeout", "TransportError"] } },
  ]);
  expect(await groupsOf("dlq: {}")).toEqual([]);
});

test.each([
  [
    "{ name: a, match: {} }",
    "2:21: groups[0].match: this would match every failure; add type, class, step, text or pattern",
  ],
  [
    "{ name: a, match: { typ: Timeout } }",
    '2:23: groups[0].match.typ: unknown key "typ". Did you mean type?',
  ],
  [
    "{ name: a, match: { pattern: '(a)\\1' } }",
    "2:32: groups[0].match.pattern: the pattern cannot be used: invalid escape sequence: `\\1`",
  ],
  ["{ name: 0123456789abcdef, match: { text: x } }", "2:11: groups[0].name: this looks like a signature"],
  [
    '{ name: "a, b", match: { text: x } }',
    "2:11: groups[0].name: a comma is not allowed, because it separates names in --group",
  ],
  [
    `{ name: ${"n".repeat(201)}, match: { text: x } }`,
    "2:11: groups[0].name: this is longer than 200 characters",
  ],
])("%s is refused", async (rule, problem) => {
  const reading = readConfig(`groups:\n- ${rule}`, "r.yml");
  await expect(reading).rejects.toMatchObject({ code: "usage" });
  await expect(reading).rejects.toThrow(`r.yml:${problem}`);
});

test("two rules with the same name are refused", async () => {
  const text = "groups:\n- { name: a, match: { text: x } }\n- { name: a, match: { text: y } }\n";
  await expect(readConfig(text, "r.yml")).rejects.toThrow(
    'r.yml:3:11: groups[1].name: the name "a" is already used by another group',
  );
});
