/** Values in the texts of a workflow: what can be named, and that a shell sees each value exactly, wherever it stands. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expand, quoteForShell, shellProblems } from "../../src/workflow/variables.ts";

const VARIABLES = {
  item: { name: "a b", n: 3, list: ["x", { y: true }], cmd: "echo hi" },
  item_id: "id-1",
  index: 4,
  map: { total: 10, successful: 8, failed: 2, results: [{ ok: true }], results_file: "/tmp/r.json" },
  setup: { files: ["a", "b"] },
  env: { HOME: "/home/me" },
  out: "captured",
};

test.each([
  ["${item.name}/${item.list[1].y}", "a b/true"],
  ["${item_id} ${index}", "id-1 4"],
  ["${map.total}-${map.successful}-${map.failed} ${map.results_file}", "10-8-2 /tmp/r.json"],
  ["${map.results}", '[{"ok":true}]'],
  ["${setup.files[1]} ${env.HOME} ${out}", "b /home/me captured"],
  ["${gone:-default} ${item.x:-}|", "default |"],
  ["${raw:item.cmd}", "echo hi"],
  ["$${item.name} $HOME", "${item.name} $HOME"],
])("%s is %s where there is no shell", (template, value) => {
  expect(expand(template, VARIABLES, "plain")).toEqual({ ok: true, value });
});

test.each([
  ["${itm.name}", 'there is no variable "itm". Did you mean ${item}?'],
  ["${HOME}", 'there is no variable "HOME". For the environment write $HOME in a script, or ${env.HOME}.'],
  ["${item.gone}", "item id-1 has no value at item.gone"],
  ["${map.gone}", "there is no value at map.gone"],
  ["${VAR%.*}", "is not a variable"],
  ["${toString}", 'there is no variable "toString"'],
])("%s is an error that says why, and never an empty text", (template, message) => {
  for (const mode of ["plain", "shell"] as const) {
    expect(expand(`a ${template}`, VARIABLES, mode)).toEqual({
      ok: false,
      message: expect.stringContaining(message),
    });
  }
});

/** Places in a script, each with what the script prints for the value. */
const PLACES: readonly (readonly [script: string, print: (value: string) => string])[] = [
  ["printf %s ${item.v}", (value) => value],
  ["printf %s a${item.v}b", (value) => `a${value}b`],
  ['printf %s "hello ${item.v}!"', (value) => `hello ${value}!`],
  ["printf %s 'hello ${item.v}!'", (value) => `hello ${value}!`],
  ["printf %s 'it'\\''s ${item.v}'", (value) => `it's ${value}`],
  ['X=${item.v}; printf %s "$X"', (value) => value],
  ['A=x; printf %s "$A${item.v}"', (value) => `x${value}`],
  ['printf %s "$(printf %s. ${item.v})"', (value) => `${value}.`],
  ['printf %s "<$(printf %s. "${item.v}")>"', (value) => `<${value}.>`],
  ["# it's ${item.v}\nprintf %s ${item.v}", (value) => value],
  ["cat <<'END' >/dev/null\nit's\nEND\nprintf %s ${item.v}", (value) => value],
  ["case x in (x) printf %s ${item.v};; esac", (value) => value],
  ["case x in x) printf %s ${item.v};; esac", (value) => value],
  ["printf %s \\\"${item.v}\\'", (value) => `"${value}'`],
  ['printf %s "\\"${item.v}\\\\"', (value) => `"${value}\\`],
  ["printf '%s' \"$(( 1 + 2 ))\" ${item.v}", (value) => `3${value}`],
  ['f() { printf %s "$1"; }; f ${item.v}', (value) => value],
  ["V=a.b; printf %s $${V%.b} ${item.v}", (value) => `a${value}`],
  ["printf %s a#b'${item.v}'", (value) => `a#b${value}`],
  ['for x in ${item.v}; do printf %s "$x"; done', (value) => value],
];

const HOSTILE = [
  "",
  " ",
  "-n",
  "--help",
  "a\nb",
  "\n",
  "'",
  '"',
  "''''",
  "\\",
  "\\'",
  "$(touch PWNED)",
  "`touch PWNED`",
  "'; touch PWNED; '",
  '"; touch PWNED; "',
  "\n touch PWNED\n",
  "$HOME ${HOME} $$ $1",
  "*",
  "~",
  "a\tb\rc",
  "é 日本 🎉",
  "!!",
  "%s%d",
  "END\ntouch PWNED",
  ") touch PWNED (",
  "#",
  "&& touch PWNED",
];

const SHELLS = ["sh", "bash"].filter((shell) => spawnSync(shell, ["-c", "true"]).status === 0);

describe("in a shell script", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "redrive-quote-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** What each script prints. One shell starts them all, because there are thousands and our own process starts few in a second. */
  function runAll(shell: string, scripts: readonly string[]): string[] {
    const each = 'for script; do "$0" -c "$script" || exit 1; printf "\\0"; done';
    const printed = execFileSync(shell, ["-c", each, shell, ...scripts], { cwd: folder, encoding: "utf8" });
    return printed.split("\0").slice(0, -1);
  }

  const run = (shell: string, script: string) => runAll(shell, [script])[0];

  function fill(template: string, value: string): string {
    const filled = expand(template, { item: { v: value } }, "shell");
    if (!filled.ok) throw new Error(filled.message);
    return filled.value;
  }

  test.each(PLACES)("a value arrives exactly: %s", (template, print) => {
    const scripts = HOSTILE.map((value) => fill(template, value));
    // $(…) drops the line ends at the end of what it prints; none of the places ends with one.
    for (const shell of SHELLS) expect(runAll(shell, scripts)).toEqual(HOSTILE.map(print));
    expect(readdirSync(folder)).toEqual([]);
  });

  test("any text arrives exactly", () => {
    const text = fc.string({ unit: "binary", maxLength: 30 }).filter((value) => !/[\0\p{Cs}]/u.test(value));
    const hard = fc
      .array(
        fc.constantFrom("'", '"', "\\", "$", "`", "(", ")", "{", "}", "\n", " ", "#", "a", "!", "-", ";"),
      )
      .map((characters) => characters.join(""));
    const placed = fc.tuple(fc.oneof(text, hard), fc.constantFrom(...PLACES));
    fc.assert(
      fc.property(fc.array(placed, { minLength: 30, maxLength: 30 }), (all) => {
        const scripts = all.map(([value, [template]]) => fill(template, value));
        expect(runAll("sh", scripts)).toEqual(all.map(([value, [, print]]) => print(value)));
      }),
      { numRuns: 10 },
    );
  });

  test("invariant 11: whatever the script looks like, a value is never run", () => {
    const pieces = [
      ..."'\"`\\#\n ;{}()".split(""),
      ...["${item.v}", "${item.v}", "${item.v}", ": ", "$(", "$((", "((", "))", "<<E\n", "\nE\n", "<<-'E'\n"],
      ...["case x in ", "x) ", " esac", "$${v:-", "$${v", "$'", "$[", "$v", "\\\n", "<<E ", "1+", "echo "],
    ];
    const scripts = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 14 });
    const values = fc.constantFrom(
      ...HOSTILE.filter((value) => value.includes("PWNED")),
      "a[$(touch PWNED)]",
    );
    let accepted = 0;
    fc.assert(
      fc.property(fc.array(fc.tuple(scripts, values), { minLength: 50, maxLength: 50 }), (all) => {
        const filled = all.flatMap(([script, value]) => {
          if (!script.includes("${item.v}")) return [];
          const one = expand(script.join(""), { item: { v: value } }, "shell");
          return one.ok ? [one.value] : [];
        });
        accepted += filled.length;
        rmSync(join(folder, "PWNED"), { force: true });
        for (const shell of SHELLS) {
          const each = ["-c", 'for script; do "$0" -c "$script"; done', shell, ...filled];
          spawnSync(shell, each, { cwd: folder, stdio: "ignore", timeout: 20_000 });
        }
        expect(existsSync(join(folder, "PWNED"))).toBe(false);
      }),
      { numRuns: 30 },
    );
    expect(accepted).toBeGreaterThan(100);
  });

  test("a number, a list and an object go in as JSON", () => {
    const filled = expand("printf '%s\n' ${item.n} ${item.list} \"${item}\"", VARIABLES, "shell");
    expect(filled.ok && run("sh", filled.value)).toBe(
      `3\n["x",{"y":true}]\n${JSON.stringify(VARIABLES.item)}\n`,
    );
  });

  test("raw opts out, and what comes after it is quoted for where it then stands", () => {
    const raw = expand("${raw:item.cmd}", VARIABLES, "shell");
    expect(raw).toEqual({ ok: true, value: "echo hi" });
    const item = { open: 'printf %s "', v: "$(touch PWNED)" };
    const filled = expand('${raw:item.open}${item.v}"', { item }, "shell");
    expect(filled.ok && run("sh", filled.value)).toBe(item.v);
  });

  test("in arithmetic an integer goes in, and nothing else", () => {
    const filled = expand("echo $((${item.n} * 2))", VARIABLES, "shell");
    expect(filled.ok && run("sh", filled.value)).toBe("6\n");
    expect(expand("echo $((${item.name}))", VARIABLES, "shell")).toEqual({
      ok: false,
      message: expect.stringContaining("integer"),
    });
  });

  test("a value with a NUL is an error", () => {
    expect(expand("echo ${item}", { item: "a\0b" }, "shell")).toEqual({
      ok: false,
      message: expect.stringContaining("NUL"),
    });
  });

  test.each([
    ["cat <<END\n${item.v}\nEND", "here-document"],
    ["cat <<-'END'\n\tx ${item.v}\n\tEND", "here-document"],
    ["cat <<${item.v}\nEND", "here-document"],
    ["echo `echo ${item.v}`", "$(…)"],
    ['echo "`echo ${item.v}`"', "$(…)"],
    ["echo \\${item.v}", "backslash"],
    ["echo $${x:-${item.v}}", "expansion"],
    ["echo $(case x in x) echo ${item.v};; esac)", "case"],
    ["((x = ${item.v}))", "((…))"],
    ["echo $'a' ${item.v}", "$'…'"],
  ])("%s is refused, before and while it runs", (template, message) => {
    const refusal = expect.stringContaining(message);
    expect(expand(template, { item: { v: "x" } }, "shell")).toEqual({ ok: false, message: refusal });
    expect(shellProblems(template)).toEqual([{ written: "${item.v}", message: refusal }]);
  });

  test("a here-document without a variable in it is left alone", () => {
    const filled = expand("cat <<END\n$(echo it)'s\nEND\nprintf %s ${item_id}", VARIABLES, "shell");
    expect(filled.ok && run("sh", filled.value)).toBe("it's\nid-1");
  });
});

test("a quoted word is one word", () => {
  expect(quoteForShell("a'b")).toBe("'a'\\''b'");
});
