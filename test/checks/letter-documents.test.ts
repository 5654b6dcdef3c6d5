/** The guide to dead letters is complete: every setting, option, field, word, error type, error code and function has its place. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EXIT_CODE } from "../../src/cli/exit-code.ts";
import { columnsFor } from "../../src/cli/render/letter-list.ts";
import { paintFor } from "../../src/cli/render/text.ts";
import { EXPORT_FORMATS, IMPORT_FORMATS } from "../../src/dead-letter/import-export/reading.ts";
import { LETTER_ORDERS } from "../../src/engine.ts";
import { classOfType, ERROR_TYPE_NAMES, reviewOf } from "../../src/item/error-type.ts";
import { EVENT_TYPES } from "../../src/item/event.ts";
import { GROUP_STATES } from "../../src/item/group.ts";
import { RESOLUTION_KINDS } from "../../src/item/letter.ts";
import { OPERATION_KINDS, OPERATION_STATUSES } from "../../src/item/operation.ts";
import { LETTER_VARIABLES } from "../../src/redrive/matcher.ts";
import { MASKS } from "../../src/triage/mask/masker.ts";
import { normalise } from "../../src/triage/normalise.ts";
import { ALGORITHM } from "../../src/triage/signature.ts";
import { everyHelp, type Help } from "./help.ts";
import { ROOT, readSources } from "./sources.ts";

const PLAIN = paintFor({ isTty: false, env: {} });
const page = (name: string) => readFileSync(join(ROOT, "docs", name), "utf8");
const letters = page("03-dead-letters.md");
const managing = page("07-managing-letters.md");
const settings = page("08-settings.md");
const exchange = page("09-import-export.md");
const library = page("25-library-reference.md");
const trouble = page("11-troubleshooting.md");
const groups = page("12-groups.md");

/** Those that no row of a table on the page begins with, alone or among others. */
function withoutRow(text: string, names: readonly string[]): readonly string[] {
  const heads = text
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) => line.split(" | ")[0] ?? "");
  return names.filter((name) => !heads.some((head) => new RegExp(`\`${name}[ \`]`).test(head)));
}

/** Those that the page does not have as a word in code. */
function withoutWord(text: string, names: readonly string[]): readonly string[] {
  return names.filter((name) => !text.includes(`\`${name}\``));
}

const SHARED = ["--help", "--json", "--store", "--config"];

/** Commands and their options that the page does not have. */
function withoutPlace(text: string, helps: readonly Help[]): readonly string[] {
  return helps.flatMap(({ command, flags }) =>
    [`redrive ${command}`, ...flags.filter((flag) => !SHARED.includes(flag))].filter(
      (name) => !new RegExp(`${name}(?![a-z-])`).test(text),
    ),
  );
}

describe("the page about settings", () => {
  const schema = JSON.parse(readFileSync(join(ROOT, "schema/redrive.schema.json"), "utf8"));

  function keysOfSettings(): readonly string[] {
    const { dlq, jobs, fix, group, class_rule, watch, quiet_hours, alert_rule, alert_channel } = schema.$defs;
    const { price, redact, login, work } = schema.$defs;
    const rules = [group, group.properties.match, class_rule, price, redact, login, work];
    const forms = [dlq, jobs, fix, ...rules, watch, quiet_hours, alert_rule, alert_channel];
    return forms.flatMap(({ properties }) => Object.keys(properties));
  }

  it("has every key of redrive.yml, in its own row", () => {
    const { fix } = schema.$defs;
    const sections = [
      "dlq",
      "jobs",
      "fixes",
      "groups",
      "classify",
      "prices",
      "redact",
      "login",
      "work",
      "watch",
    ];
    expect(Object.keys(schema.properties)).toEqual(sections);
    const keys = keysOfSettings();
    expect(keys).toEqual(expect.arrayContaining(["max_items", "poison_after", "command", "max_uses"]));
    expect(withoutRow(settings, keys)).toEqual([]);
    expect(withoutWord(settings, Object.keys(fix.properties.match.properties))).toEqual([]);
  });

  it("has no key that is not in the schema", () => {
    const rows = [...settings.matchAll(/^\| `([a-z_]+)` \| .*\|$/gm)].map(([, key = ""]) => key);
    const known = keysOfSettings();
    expect(rows.length).toBeGreaterThan(10);
    expect(rows.filter((key) => !known.includes(key))).toEqual([]);
  });
});

describe("the page about managing letters", () => {
  const flagsOf = async (command: string) =>
    (await everyHelp(command))[0]?.flags.filter((flag) => !SHARED.includes(flag)) ?? [];
  it("has every option that selects letters, and every option of list, edit and retry, in a row", async () => {
    for (const command of ["dlq list", "dlq edit", "dlq retry"]) {
      const flags = await flagsOf(command);
      expect(flags).toEqual(expect.arrayContaining(["--filter", "--older-than"]));
      expect(withoutRow(managing, flags), command).toEqual([]);
    }
  });

  it("with its neighbours it has every option of every command on letters and operations", async () => {
    const text = managing + settings + exchange;
    const helps = [...(await everyHelp("dlq")), ...(await everyHelp("ops"))];
    expect(helps.length).toBeGreaterThan(20);
    expect(withoutPlace(text, helps)).toEqual([]);
  });

  it("has every column, order, kind of operation and status", () => {
    const all = columnsFor(["all"], { paint: PLAIN, now: 0 });
    const named = /`--columns NAMES` \|[^|]*\|([^|]*)\|/.exec(managing)?.[1] ?? "";
    const names = [...named.matchAll(/`([a-z]+)`/g)]
      .map(([, name = ""]) => name)
      .filter((name) => name !== "all");
    expect(columnsFor(names, { paint: PLAIN, now: 0 }).map(({ title }) => title)).toEqual(
      all.map(({ title }) => title),
    );
    expect(withoutWord(managing, LETTER_ORDERS)).toEqual([]);
    expect(withoutRow(managing, [...OPERATION_KINDS, ...OPERATION_STATUSES])).toEqual([]);
  });
});

describe("the page about dead letters", () => {
  it("has every field of a letter and of a failure, in a row", () => {
    const fields = [LETTER_VARIABLES.get("letter"), LETTER_VARIABLES.get("failure")].flatMap((one) =>
      one === undefined || one === "any" ? [] : one,
    );
    expect(fields.length).toBeGreaterThan(30);
    expect(withoutRow(letters, fields)).toEqual([]);
  });

  it("has every way to be resolved and every event of letters, in a row", () => {
    expect(withoutRow(letters, RESOLUTION_KINDS)).toEqual([]);
    expect(
      withoutRow(
        letters,
        EVENT_TYPES.filter((type) => /^(dlq|operation|group)_/.test(type)),
      ),
    ).toEqual([]);
  });
});

describe("the page about groups", () => {
  it("has every mask, with the reason in the code and a matching example", () => {
    const rows = [...groups.matchAll(/^\| `<([a-z]+)>` \| `([^`]+)` \| (.*) \|$/gm)].map(
      ([, mask = "", example = "", reason = ""]) => ({ mask, example, reason }),
    );
    expect(Object.fromEntries(rows.map(({ mask, reason }) => [mask, reason]))).toEqual(MASKS);
    const without = rows.filter(({ mask, example }) => !normalise(example).includes(`<${mask}>`));
    expect(without).toEqual([]);
  });

  it("has every state and every event of a group, in a row", () => {
    const events = EVENT_TYPES.filter((type) => type.startsWith("group_"));
    expect(events.length).toBeGreaterThan(3);
    expect(withoutRow(groups, [...GROUP_STATES, ...events])).toEqual([]);
  });

  it("has every command and every option", async () => {
    const helps = await everyHelp("groups");
    expect(helps.length).toBeGreaterThan(10);
    expect(withoutPlace(groups, helps)).toEqual([]);
  });

  it("names the version of the algorithm", () => {
    expect(groups.replaceAll("\n", " ")).toContain(`The current version is \`${ALGORITHM}\``);
  });
});

it("the page about exchange has every format", () => {
  expect(withoutRow(exchange, EXPORT_FORMATS)).toEqual([]);
  expect(IMPORT_FORMATS.filter((format) => !exchange.includes(format))).toEqual([]);
});

describe("the page about troubleshooting", () => {
  it("has a section for every error type, with its class and eligibility from the code", () => {
    const sections = [...trouble.matchAll(/^### (\w+)$/gm)].map(([, title]) => title);
    expect(sections.slice(0, ERROR_TYPE_NAMES.length)).toEqual(ERROR_TYPE_NAMES);
    const rows = [...trouble.matchAll(/^\| \[(\w+)\]\(#(\w+)\) \| (\w+) \| (.*) \|$/gm)];
    expect(
      rows.map(([, name, anchor, errorClass, eligible]) => [name, anchor, errorClass, eligible]),
    ).toEqual(
      ERROR_TYPE_NAMES.map((name) => {
        const errorClass = classOfType(name);
        const { reprocessEligible } = reviewOf({ errorType: { name }, errorClass, errorMessage: "" });
        return [name, name.toLowerCase(), errorClass, reprocessEligible ? "yes" : "with `--force`"];
      }),
    );
  });

  it("every section of an error type has a command to use", () => {
    const sections = trouble.slice(0, trouble.indexOf("## Situations")).split(/^### /m).slice(1);
    const mute = sections.filter((text) => !/redrive \w+|retry --force|Read the message/.test(text));
    expect(mute.map((text) => text.split("\n")[0])).toEqual([]);
  });

  it("has every error code, with its exit code", () => {
    const rows = [...trouble.matchAll(/^\| (`[a-z_`, ]+`) \| (\d+) \| .*\|$/gm)].flatMap(
      ([, codes = "", exit]) => [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => [code, Number(exit)]),
    );
    expect(Object.fromEntries(rows)).toEqual(EXIT_CODE);
  });
});

it("the page about the library has every function, class and constant that it exports", () => {
  const entries = readSources().filter(({ path }) => path === "index.ts" || path.startsWith("exports/"));
  const exports = entries.map(({ text }) => text).join("\n");
  const names = [...exports.matchAll(/^export \{([^}]*)\}/gm)].flatMap(([, list = ""]) =>
    list
      .replace(/\/\*\*.*?\*\//gs, "")
      .split(",")
      .map((entry) => entry.trim())
      .filter((entry) => entry !== "" && !entry.startsWith("type ")),
  );
  expect(names.length).toBeGreaterThan(40);
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(library))).toEqual([]);
});
