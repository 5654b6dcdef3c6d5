/** Scripts of steps: a shell sees each value exactly, wherever it stands, and no value is part of a script. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findShells, fuzzAgents, fuzzScripts } from "../../bench/shell/fuzz.mjs";
import { programOf } from "../../src/workflow/program.ts";
import { fillScript, type ShellScript, shellProblems } from "../../src/workflow/shell-values.ts";
import { fc } from "../support/properties.ts";
import { seeds } from "../support/seeds.ts";

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
  ["cat <<END\n${item.v}.\nEND", (value) => `${value}.\n`],
  ['cat <<-END\n\t"${item.v}."\n\tEND', (value) => `"${value}."\n`],
  ["cat <<END\n$(printf %s. ${item.v})\nEND", (value) => `${value}.\n`],
  ["sh -c 'printf %s \"$1\"' sh ${item.v}", (value) => value],
  ['S=\'printf %s "$1"\'; sh -c "$S" sh ${item.v}', (value) => value],
  ["printf %s \\\n${item.v}", (value) => value],
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
    folder = mkdtempSync(join(tmpdir(), "redrive-script-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function fill(template: string, value: unknown): ShellScript {
    const item = { v: value } as { v: string };
    return fillScript(template, { item, item_id: "id-1" });
  }

  const run = (shell: string, { text, env }: ShellScript) =>
    spawnSync(shell, ["-c", text], { cwd: folder, env: { ...process.env, ...env }, encoding: "utf8" }).stdout;

  /** What each script prints. One shell starts them all, because our own process starts few in a second. */
  function runAll(shell: string, cases: readonly { template: string; value: string }[]): string[] {
    const set = Array.from({ length: 4 }, (_, index) => `RD_${index + 1}="$2"`).join(" ");
    const each = `while [ $# -gt 0 ]; do ${set} "$0" -c "$1" || exit 1; printf "\\0"; shift 2; done`;
    const args = cases.flatMap(({ template, value }) => [fill(template, value).text, value]);
    const { stdout } = spawnSync(shell, ["-c", each, shell, ...args], { cwd: folder, encoding: "utf8" });
    return stdout.split("\0").slice(0, -1);
  }

  test.each(PLACES)("a value arrives unchanged: %s", (template, print) => {
    const cases = HOSTILE.map((value) => ({ template, value }));
    // $(…) drops the line ends at the end of what it prints; none of the places ends with one.
    for (const shell of SHELLS) expect(runAll(shell, cases)).toEqual(HOSTILE.map(print));
    expect(readdirSync(folder)).toEqual([]);
  });

  test("any text arrives unchanged", () => {
    const text = fc.string({ unit: "binary", maxLength: 30 }).filter((value) => !/[\0\p{Cs}]/u.test(value));
    const placed = fc.tuple(text, fc.constantFrom(...PLACES));
    fc.assert(
      fc.property(fc.array(placed, { minLength: 30, maxLength: 30 }), (all) => {
        const cases = all.map(([value, [template]]) => ({ template, value }));
        expect(runAll("sh", cases)).toEqual(all.map(([value, [, print]]) => print(value)));
      }),
      { numRuns: 5 },
    );
  });

  test("invariant 11: whatever the script, a value is never run and never part of it", () => {
    const { found } = findShells(); // a bare machine has no bash or busybox; the long form names what it lacks
    const [seed = 1] = seeds(1);
    const report = fuzzScripts({ fillScript, count: 800, seed, shells: found });
    expect(report.violations).toEqual([]);
    expect(report.accepted).toBeGreaterThan(300);
  });

  test("invariant 11: no option of an agent comes from an item", () => {
    const [seed = 1] = seeds(1);
    const report = fuzzAgents({ programOf, count: 2000, seed });
    expect(report.violations).toEqual([]);
    expect(report.accepted).toBeGreaterThan(500);
  });

  test("a number, a list and an object are passed as JSON", () => {
    const script = fill("printf '%s\n' ${item.v[0]} ${item.v[1]} \"${item}\"", [3, ["x", { y: true }]]);
    expect(run("sh", script)).toBe('3\n["x",{"y":true}]\n{"v":[3,["x",{"y":true}]]}\n');
  });

  test("raw opts out, and the rest is parsed as it stands after it", () => {
    const item = { open: 'printf %s "', v: "$(touch PWNED)" };
    const script = fillScript('${raw:item.open}${item.v}"', { item });
    expect(script).toMatchObject({ text: 'printf %s "${RD_1}"', env: { RD_1: item.v } });
    expect(run("sh", script)).toBe(item.v);
  });

  test("a name that the script itself uses is not taken", () => {
    const script = fill("RD_1=mine; printf %s,%s $RD_1 ${item.v}", "x");
    expect(script.env).toEqual({ RD__1: "x" });
    expect(run("sh", script)).toBe("mine,x");
  });

  test("a value that is too large for the environment is passed by a file and arrives completely", () => {
    const value = `${"x".repeat(300_000)}\n\n`;
    const script = fill("printf %s ${item.v} | wc -c\nprintf %s '${item.v}' | tail -c 3 | od -An -c", value);
    expect(script.env).toEqual({});
    expect(Object.values(script.files)).toEqual([value, value]);
    expect(script.text).not.toContain("xxxx");
    expect(script.text.split("\n")).toHaveLength(2);
  });

  test("a value with a NUL is an error", () => {
    expect(() => fillScript("echo ${item}", { item: "a\0b" })).toThrow("NUL");
  });

  test.each([
    ["cat <<'END'\n${item.v}\nEND", "delimiter of the here-document is quoted"],
    ["cat <<${item.v}\nEND", "delimiter of a here-document"],
    ["cat <<E${item.v}\nEND", "delimiter of a here-document"],
    ["command bash -c $options ${item.v}", "second shell"],
    ["sh $options -c ${item.v}", "second shell"],
    ["python3 -c $(true) ${item.v}", "part of its program"],
    ["awk $options ${item.v}", "part of its program"],
    ["env | sh\necho ${item.v}", "environment"],
    ["sh <<E\necho ${item.v}\n$[x\nE\n", "here-document"],
    ["echo ${item.v}; export -p | bash -s", "environment"],
    ["echo `echo ${item.v}`", "$(…)"],
    ['echo "`echo ${item.v}`"', "$(…)"],
    ["echo \\${item.v}", "backslash"],
    ["echo $${x:-${item.v}}", "expansion"],
    ["echo $((${item.v} * 2))", "expr ${item.v}"],
    ["echo $(case x in x) echo ${item.v};; esac)", "case"],
    ["((x = ${item.v}))", "((…))"],
    ["echo $'a' ${item.v}", "$'…'"],
    ["echo $\\\n(echo ${item.v})", "backslash"],
    ["echo $(\\\n(${item.v}))", "backslash"],
    ["cat <\\\n<E\n${item.v}\nE", "backslash"],
    ["echo a\u00a0# ${item.v}", "blank"],
    ['sh -c "echo ${item.v}"', "sh -c '… \"$1\" …' sh ${item.v}"],
    ["sh -ec 'echo ${item.v}'", "second shell"],
    ["/bin/bash -o pipefail -c ${item.v}", "second shell"],
    ['"b"ash -c "echo $(basename ${item.v})"', "second shell"],
    ["sudo -u me sh -c 'echo ${item.v}'", "second shell"],
    ["find . -exec sh -c 'echo ${item.v}' \\;", "second shell"],
    ["xargs -n 1 sh -c 'echo ${item.v}'", "second shell"],
    ["su me -c 'echo ${item.v}'", "second shell"],
    ["sh ${item.v}", "option"],
    ["eval echo ${item.v}", "eval"],
    ["x=1 command eval ${item.v}", "eval"],
    ["ssh host echo ${item.v}", "other machine"],
    ["ssh ${item.v}", "other machine"],
    ["trap 'rm ${item.v}' EXIT", "trap"],
    ["printf %s ${item.v} | sh", "a shell runs what this prints"],
    ["{ echo ${item.v}; } | bash", "a shell runs what this prints"],
    ["sh <<END\necho ${item.v}\nEND", "a shell runs the here-document"],
    ["cat <<END | sh\necho ${item.v}\nEND", "a shell runs the here-document"],
    ["python3 -c 'print(\"${item.v}\")'", "python3 reads it as part of its program"],
    ["awk '{print \"${item.v}\"}' file", "awk reads it"],
    ["sed -i 's/x/${item.v}/' file", "sed reads it"],
    ["[[ 1 -eq ${item.v} ]]", "Write [ … ]"],
    ["a[${item.v}]=1", "subscript"],
    ["unset ${item.v}", "name of a shell variable"],
  ])("%s is refused, before and while it runs", (template, message) => {
    const refusal = expect.stringContaining(message);
    expect(() => fillScript(template, { item: { v: "x" } })).toThrow(
      expect.objectContaining({ code: "usage", message: refusal }),
    );
    expect(shellProblems(template)).toEqual([{ written: "${item.v}", message: refusal }]);
  });

  test.each([
    "bash ./build.sh ${item.v}",
    "sh -- ${item.v}",
    "find . -name '*.sh' -newer ${item.v} -exec sh -c 'echo \"$1\"' sh {} \\;",
    "ssh -- ${item.v} uptime",
    "ssh deploy@${item.v} uptime",
    "printf %s ${item.v} | ssh host 'cat > x'",
    "grep -c eval ${item.v}",
    "awk -v v=${item.v} '{print v}' ${item.v}",
    "python3 script.py ${item.v}",
    "export X=${item.v}",
    "trap 'rm x' EXIT; rm ${item.v}",
    "sh > ${item.v} 2>&1 -c true",
  ])("%s is taken", (template) => {
    expect(shellProblems(template)).toEqual([]);
  });
});
