/**
 * Differential fuzz test of shell steps: every shell of the machine runs seeded scripts with hostile values. A value must
 * arrive unchanged and must never be executed, whatever the script looks like. Also checks agent arguments.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chanceOf } from "../torture/chance.mjs";

/** The command of each shell. */
const SHELLS = [
  { name: "dash", argv: ["dash"] },
  { name: "bash", argv: ["bash"] },
  { name: "bash --posix", argv: ["bash", "--posix"] },
  { name: "busybox", argv: ["busybox", "sh"] },
];

/** The shells that run on this machine, and the missing ones with the reason. */
export function findShells() {
  const found = [];
  const missing = [];
  for (const shell of SHELLS) {
    const { error, status } = spawnSync(shell.argv[0], [...shell.argv.slice(1), "-c", "exit 7"]);
    if (status === 7) found.push(shell);
    else missing.push(`${shell.name}: ${error?.code ?? `exit code ${status}`}`);
  }
  return { found, missing };
}

/** Scripts that print the value in a known form. `\u0001` in the expected output stands for the value. */
const EXACT = [
  ["printf %s ${item.v}", "\u0001"],
  ["printf %s a${item.v}b", "a\u0001b"],
  ['printf %s "hello ${item.v}!"', "hello \u0001!"],
  ["printf %s 'hello ${item.v}!'", "hello \u0001!"],
  ["printf %s 'it'\\''s ${item.v}'", "it's \u0001"],
  ['X=${item.v}; printf %s "$X"', "\u0001"],
  ['A=x; printf %s "$A${item.v}"', "x\u0001"],
  ['printf %s "<$(printf %s. "${item.v}")>"', "<\u0001.>"],
  ["printf %s.%s ${item.v} '${item.v}'", "\u0001.\u0001"],
  ["# it's ${item.v}\nprintf %s ${item.v}", "\u0001"],
  ["cat <<E\n<${item.v}>\nE\n", "<\u0001>\n"],
  ["cat <<-E\n\t<${item.v}>\n\tE\nprintf %s '${item.v}'", "<\u0001>\n\u0001"],
  ["cat <<'E'\nit's\nE\nprintf %s ${item.v}", "it's\n\u0001"],
  ["case x in (x) printf %s ${item.v};; esac", "\u0001"],
  ["printf %s \\\n  ${item.v}", "\u0001"],
  ["printf %s a#'${item.v}'", "a#\u0001"],
  ['for x in ${item.v} "${item.v}"; do printf "%s;" "$x"; done', "\u0001;\u0001;"],
  ['f() { printf %s "$1"; }; f ${item.v}', "\u0001"],
  ["sh -c 'printf %s \"$1\"' sh ${item.v}", "\u0001"],
  ["if [ ${item.v} = ${item.v} ]; then printf %s ${item.v}; fi", "\u0001"],
];

const PIECES = [
  ..."'\"`\\#\n ;{}()|<>=".split(""),
  ...["${item.v}", "${item.v}", "${item.v}", "${item.v}", '"${item.v}"', "'${item.v}'", " ${item.v}"],
  ...["$(", "$((", "((", "))", "$(( 1 + ", "$[", "$'", '$"', "$v", "$${v:-", "$${v", "}", "]"],
  ...["<<E\n", "<<E ", "<<-E\n", "<<'E'\n", "<<\\E\n", "\nE\n", "\n\tE\n", "E", "<<<", "<\\\n<E\n"],
  ...["case x in ", "x) ", " esac", "if :; then ", "; fi", "for x in ", "; do ", "; done", "{ ", "; }"],
  ...["\\\n", "$\\\n(", "$(\\\n(", "\u00a0#", "\u2003#", "\r#", " #", "é", "\t", "\\\\", "\\'"],
  ...["sh -c ", "bash -c ", 'sh -c "echo ', "eval ", "trap ", " EXIT\n", " | sh", " | sh\n", "sh <<E\n"],
  ...["xargs sh -c ", "command ", "env ", "X=1 ", "! ", "[[ 1 -eq ", " ]]", "let ", "a[", "]=1", "declare "],
  ...["unset ", "read ", "alias a=", "awk ", "BEGIN{", "sed -e ", "find . -exec sh -c ", " \\;", "export "],
  ...[": ", "echo ", "printf %s ", "1+", "x=", "cat "],
];

/** Contexts in which a second interpreter evaluates the value as code, and what may precede them. */
const SECOND_READERS = [
  ...["eval ${item.v}", 'eval "echo ${item.v}"', "trap '${item.v}' EXIT", "alias a=${item.v}\na"],
  ...["sh -c ${item.v}", 'sh -c "echo ${item.v}"', "bash -ec 'echo ${item.v}'", "sh -e -c -- ${item.v}"],
  ...[
    "printf '%s\\n' ${item.v} | sh",
    "echo ${item.v} | sh -s",
    "{ echo ${item.v}; } | sh",
    "(echo ${item.v}) | sh",
  ],
  ...["sh <<E\n${item.v}\nE\n", "cat <<E | sh\n${item.v}\nE\n", 'sh -c "$(printf %s ${item.v})"'],
  ...["find . -maxdepth 0 -exec sh -c '${item.v}' \\;", "echo x | xargs sh -c ${item.v}", "$0 -c ${item.v}"],
  ...["awk 'BEGIN{${item.v}}'", "echo x | sed ${item.v}", "perl -e '${item.v}'", "python3 -c '${item.v}'"],
  ...[": $((${item.v}))", "[[ 1 -eq ${item.v} ]]", "let x=${item.v}", "a[${item.v}]=1", "unset ${item.v}"],
  ...["sh ${item.v}", "sh ${item.v} ${item.v}", "while :; do echo ${item.v}; break; done | sh"],
];
const BEFORE = [
  ...[
    "",
    "",
    "command ",
    "X=1 ",
    "! ",
    "{ ",
    "( ",
    "if ",
    "env ",
    "exec ",
    "\\",
    "nohup ",
    "time ",
    "$v ",
    "''",
  ],
  ...[
    ">/dev/null ",
    "2>&1 ",
    "$(true) ",
    ": && ",
    ": || ",
    ": ; ",
    ":\n",
    "\\\n",
    "timeout 5 ",
    "nice -n 1 ",
    '"$(',
  ],
];

const RUN = "touch PWNED";
const VALUES = [
  ...[RUN, `$(${RUN})`, `\`${RUN}\``, `'; ${RUN}; '`, `"; ${RUN}; "`, `\n${RUN}\n`, `E\n${RUN}\n`],
  ...[`) ${RUN} (`, `# \n${RUN}`, `&& ${RUN}`, `| ${RUN}`, `a[$(${RUN})]`, `x=$(${RUN})`, `;${RUN};#`],
  ...[`}; ${RUN}; {`, `";${RUN};'`, `\\";${RUN};`, `-c ${RUN}`, `BEGIN{system("${RUN}")}`, `1e ${RUN}`],
];
const HARMLESS = [
  "",
  " ",
  "-n",
  "a\nb",
  "'",
  '"',
  "\\",
  "*",
  "~",
  "$HOME",
  "a\tb\rc",
  "é 日本 🎉",
  "!!",
  "%s",
  "-",
];
const HARD = [..."'\"\\$`(){}\n #a!-;*?[]~&|<>=\t\u00a0é", "\u0081", "🎉"];

/**
 * Runs `count` scripts in each shell. `fillScript` is the function of `src/workflow/shell-values.ts`. Returns how many ran
 * and every violation with the data to reproduce it.
 */
export function fuzzScripts({ fillScript, count, seed, shells, onBatch = () => undefined }) {
  const chance = chanceOf(seed);
  const folder = mkdtempSync(join(tmpdir(), "redrive-fuzz-"));
  const report = { scripts: 0, accepted: 0, refused: 0, runs: 0, violations: [] };
  try {
    while (report.scripts < count) {
      const cases = Array.from({ length: Math.min(100, count - report.scripts) }, () => drawCase(chance));
      report.scripts += cases.length;
      const filled = cases.flatMap((one) => fillCase(one, fillScript, report));
      for (const shell of shells) runBatch(shell, filled, { folder, report });
      onBatch(report);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return report;
}

function drawCase(chance) {
  const one = (list) => list[chance.between(0, list.length - 1)];
  if (chance.random() < 0.3) {
    const [template, prints] = one(EXACT);
    const kind = chance.random();
    const value =
      kind < 0.3
        ? one(HARMLESS)
        : kind < 0.5
          ? one(VALUES)
          : Array.from({ length: chance.between(0, 12) }, () => one(HARD)).join("");
    return { template, value, prints: prints.replaceAll("\u0001", () => value) };
  }
  if (chance.random() < 0.2) {
    const template = `${one(BEFORE)}${one(BEFORE)}${one(SECOND_READERS)}${one(["", "\n", " }", " )", "; fi", ' )"'])}`;
    return { template, value: one(VALUES), prints: undefined };
  }
  const pieces = Array.from({ length: chance.between(1, 12) }, () => one(PIECES));
  if (!pieces.some((piece) => piece.includes("${item.v}"))) pieces.push("${item.v}");
  const template = pieces.join("");
  return { template, value: one(VALUES), prints: undefined };
}

/** Returns the result of the action, or the message of its usage error. */
function unlessRefused(action) {
  try {
    return { ok: true, value: action() };
  } catch (error) {
    if (error.code !== "usage") throw error;
    return { ok: false, message: error.message };
  }
}

function fillCase(one, fillScript, report) {
  const script = unlessRefused(() => fillScript(one.template, { item: { v: one.value } }));
  if (!script.ok) {
    report.refused++;
    if (one.prints !== undefined) report.violations.push({ ...one, what: `refused: ${script.message}` });
    return [];
  }
  if (one.value.length > 3 && script.value.text.includes(one.value) && !one.template.includes(one.value)) {
    report.violations.push({ ...one, what: "the value stands in the script" });
  }
  report.accepted++;
  return [{ ...one, script: script.value.text, values: Object.keys(script.value.env).length }];
}

/** More names than any script has values; all values of a script are equal. */
const NAMES = Array.from({ length: 40 }, (_, index) => `RD_${index + 1}`);
const SET_ALL = NAMES.map((name) => `${name}="$2"`).join(" ");
const EACH = `while [ $# -gt 0 ]; do ${SET_ALL} $S -c "$1" </dev/null 2>/dev/null; printf '\\1\\1'; shift 2; done`;

function runBatch(shell, cases, { folder, report }) {
  const printed = runCases(shell, cases, folder);
  report.runs += cases.length;
  const isRun = takePwned(folder);
  for (const [index, one] of cases.entries()) {
    if (one.prints !== undefined && printed[index] !== one.prints) {
      report.violations.push({
        ...one,
        shell: shell.name,
        what: `printed ${JSON.stringify(printed[index])}`,
      });
    }
  }
  if (!isRun) return;
  for (const one of cases) {
    runCases(shell, [one], folder);
    if (takePwned(folder)) report.violations.push({ ...one, shell: shell.name, what: "the value was run" });
  }
}

/** One shell starts all scripts, because starting processes from Node is slow. */
function runCases(shell, cases, folder) {
  const args = cases.flatMap(({ script, value }) => [script, value]);
  const env = { PATH: process.env.PATH, S: shell.argv.join(" "), LC_ALL: "C.UTF-8" };
  const { stdout } = spawnSync("sh", ["-c", EACH, "sh", ...args], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "ignore"],
    timeout: 60_000,
    killSignal: "SIGKILL",
    encoding: "utf8",
  });
  return stdout.split("\u0001\u0001");
}

function takePwned(folder) {
  const path = join(folder, "PWNED");
  const isThere = existsSync(path);
  rmSync(path, { force: true });
  return isThere;
}

const DASHES = [
  "-",
  "--",
  "-rf",
  "--dangerously-skip-permissions",
  "--mcp-config=x.json",
  "-c",
  "--\n-x",
  "-p",
];
const COMMANDS = [
  ["agent", "run"],
  ["agent", "--model", "${item.v}"],
  ["agent", "--model=${item.v}"],
  ["agent", "${item.v}", "--", "${item.v}"],
  ["agent", "--", "${item.v}"],
  ["agent", "${item.v}"],
  ["agent", "${item.e}${item.v}"],
];

/** Generates hostile prompts and arguments, and checks that no argument that begins with `-` comes from an item. */
export function fuzzAgents({ programOf, count, seed }) {
  const chance = chanceOf(seed);
  const one = (list) => list[chance.between(0, list.length - 1)];
  const report = { agents: 0, accepted: 0, violations: [] };
  for (; report.agents < count; report.agents++) {
    const command = one(COMMANDS);
    const value = chance.random() < 0.8 ? one(DASHES) : one(HARMLESS);
    const promptBy = one(["stdin", "argument", undefined]);
    const action = { kind: "agent", command, prompt: one(["${item.v}", "do ${item.v}"]), protocol: "plain" };
    const context = { env: {}, secretValues: [] };
    const at = { scope: { all: () => ({ item: { v: value, e: "" } }) }, run: { context } };
    const asked = { ...action, ...(promptBy && { promptBy }) };
    const program = unlessRefused(() => programOf(asked, { action, env: {} }, at));
    if (!program.ok) continue;
    report.accepted++;
    const { argv, stdin } = program.value;
    const end = argv.indexOf("--");
    const options = argv.slice(1, end < 0 ? argv.length : end).filter((word) => word.startsWith("-"));
    const prompt = promptBy === "argument" ? argv.at(-1) : stdin;
    if (options.some((word) => !command.includes(word) && !word.startsWith("--model="))) {
      report.violations.push({ command, value, argv, what: "an option comes from the item" });
    }
    if (prompt !== action.prompt.replace("${item.v}", () => value)) {
      report.violations.push({ command, value, argv, what: "the prompt did not arrive" });
    }
  }
  return report;
}
