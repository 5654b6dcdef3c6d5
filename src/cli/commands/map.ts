/** `redrive map|resume|demo`: runs a command for many items in parallel, and resumes jobs. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { emptiedOptionWarning, refuseEmptiedArgument } from "../../attempt/template.ts";
import { INPUT_FORMATS } from "../../intake/input.ts";
import { DEFAULT_BREAKER, DEFAULT_POLICY, type OnItemFailure, type Policy } from "../../retry/policy.ts";
import { startMap } from "../../run/map.ts";
import { DEFAULT_GRACE_MS, type MapSpec } from "../../run/map-spec.ts";
import { resumeJob } from "../../run/resume.ts";
import { compact } from "../../std/json.ts";
import { argument, command, type Given, type OptionSpec } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT, userError } from "../exit-code.ts";
import { runWithSummary } from "../interactive-run.ts";
import * as option from "../options.ts";

const mapOptions = {
  ...option.under("Input", {
    input: option.withDefault(
      option.word("-i, --input <file>", "the items: a JSON array, JSON Lines, CSV or lines; - is stdin"),
      "-",
    ),
    format: option.choice(
      "-f, --format <format>",
      "the format (default: detected from the extension or content)",
      INPUT_FORMATS,
    ),
    idField: option.word("--id-field <field>", "the field that identifies an item (default: its content)"),
    distinct: {
      ...option.flag(
        "--distinct [field]",
        "drop duplicate items: equal items, or items with an equal value of this field",
      ),
      read: (raw) => (raw === true || typeof raw === "string" ? raw : undefined),
    } as OptionSpec<string | true | undefined>,
  }),
  ...option.under("Running", {
    concurrency: option.concurrency("how many items to run at a time (default: the number of cores)"),
    timeoutMs: option.timeoutMs,
    graceMs: option.graceMs,
    name: option.word("-n, --name <name>", "the job name; if the job exists, it is resumed"),
    acceptChanges: option.acceptChanges("resume the job even if the command has changed"),
    allowOptions: option.allowOptions,
    keepEvidence: option.keepEvidence,
    storeWaitMs: option.storeWaitMs,
    quiet: option.quiet,
  }),
  ...option.under("When an item fails", {
    retries: option.retries("how often it is retried (default: 2)"),
    backoff: option.backoff,
    onFailure: option.withDefault(
      option.choice(
        "--on-failure <action>",
        "after the last retry: keep the item as a dead letter, retry it immediately, skip it, or stop the job",
        option.FAILURE_CHOICES,
      ),
      "dlq",
    ),
    failureCommand: option.onFailureCommand,
    maxFailures: option.count("--max-failures <n>", "stop when this many items have died", 1),
    failureThreshold: option.share(
      "--failure-threshold <rate>",
      "stop when more than this share of the finished items has died (0 to 1; checked after 10 finished items)",
    ),
    failFast: option.flag("--fail-fast", "stop when the first item dies"),
    breaker: option.breaker,
    breakerTimeoutMs: option.breakerTimeoutMs,
    onOutage: option.onOutage,
    outageMsMax: option.outageMsMax,
  }),
};

type MapFlags = Given<typeof mapOptions>;

const map = command({
  summary: "Run a command once for each item, in parallel.",
  examples: [
    "find . -name '*.md' | redrive map -- wc -w {}",
    "redrive map --input files.json -j 8 --retries 3 -- ./convert.sh '${item.path}'",
    "redrive map --input urls.txt --timeout 30s --on-outage wait -- curl -fsS {}",
  ],
  arguments: { command: argument("<command...>", option.COMMAND_HELP) },
  passesThrough: true,
  options: mapOptions,
  run: (context, { command: words, ...flags }) => {
    refuseEmptiedArgument(words);
    const warning = emptiedOptionWarning(words);
    if (warning !== undefined) context.note(warning);
    const spec = specFrom(context, words, flags);
    requireInput(context, flags);
    return runWithSummary(context, { ...flags, creates: true }, (deps, { onJob, onNotice }) =>
      startMap(deps, {
        spec,
        stdin: context.terminal.stdin,
        onJob,
        onNotice,
        ...compact({ name: flags.name }),
        ...(flags.acceptChanges && { acceptChanges: true }),
      }),
    );
  },
});

/** Refuses a terminal as input: `redrive map -- ls` would wait for input forever. */
function requireInput({ terminal }: Context, { input }: MapFlags): void {
  if (input !== "-" || !(terminal.stdin as { isTTY?: boolean }).isTTY) return;
  const hint = "find . -name '*.md' | redrive map -- wc -w {}   or   redrive map --input FILE -- COMMAND";
  throw userError("usage", "There is no input: stdin is a terminal, and --input was not given.", hint);
}

function specFrom({ terminal: { cwd } }: Context, words: readonly string[], flags: MapFlags): MapSpec {
  const { input, format, idField, distinct, concurrency: jobs = availableParallelism() } = flags;
  const { graceMs, failureCommand, timeoutMs, allowOptions, keepEvidence } = flags;
  return {
    command: words,
    cwd,
    jobs,
    graceMs,
    policy: policyFrom(flags),
    input: { path: input === "-" ? "-" : resolve(cwd, input), ...compact({ format, idField, distinct }) },
    ...compact({ failureCommand, timeoutMs }),
    ...(allowOptions && { allowOptions }),
    ...(keepEvidence && { keepEvidence }),
  };
}

function policyFrom(flags: MapFlags): Policy {
  const { retries, backoff, maxFailures, failureThreshold, onOutage, outageMsMax } = flags;
  const { breaker: failures, breakerTimeoutMs: timeoutMs } = flags;
  if (failures === undefined && timeoutMs !== undefined)
    throw userError("usage", "--breaker-timeout needs --breaker.", "Example: --breaker 5");
  if (outageMsMax !== undefined && onOutage !== "wait")
    throw userError("usage", "--max-outage needs --on-outage wait.", "Add --on-outage wait.");
  const opens =
    failures === undefined ? undefined : { failureThreshold: failures, ...compact({ timeoutMs }) };
  const breaker = opens && { ...DEFAULT_BREAKER, ...opens };
  return {
    ...DEFAULT_POLICY,
    ...(retries !== undefined && { maxAttempts: retries + 1 }),
    onItemFailure: onItemFailureFrom(flags),
    continueOnFailure: !flags.failFast,
    ...compact({ backoff, maxFailures, failureThreshold, breaker, onOutage, outageMsMax }),
  };
}

function onItemFailureFrom({ onFailure, failureCommand }: MapFlags): OnItemFailure {
  if (failureCommand === undefined) return onFailure;
  if (onFailure === "dlq") return "custom";
  const message = `--on-failure-command and --on-failure ${onFailure} cannot be used together.`;
  throw userError("usage", message, "Omit --on-failure: the command decides.");
}

const resume = command({
  summary: "Resume a job: finish pending items and retry eligible letters.",
  examples: ["redrive resume", "redrive resume nightly --no-dlq"],
  arguments: {
    job: argument(
      "[job]",
      "job id or name (default: the latest unfinished job of this folder or repository)",
    ),
  },
  options: {
    noDlq: option.flag("--no-dlq", "do not retry letters"),
    acceptChanges: option.acceptChanges("resume even if the workflow file has changed, with the new file"),
    slots: option.concurrency("how many items to run at a time (default: the job's setting)"),
    budget: option.budget,
    storeWaitMs: option.storeWaitMs,
    quiet: option.quiet,
  },
  run: (context, { job, noDlq, acceptChanges, slots, budget, ...flags }) =>
    runWithSummary(context, { ...flags, requiresMerge: true }, (deps, watch) =>
      resumeJob(deps, {
        ...watch,
        withLetters: !noDlq,
        cwd: context.terminal.cwd,
        ...compact({ job, slots, budget }),
        ...(acceptChanges && { acceptChanges: true }),
      }),
    ),
});

/** The files that the demo checks; three of them are broken in two different ways. */
const DEMO_FILES = Array.from({ length: 12 }, (_, index) => {
  const order = index + 1;
  const broken: Readonly<Record<number, string>> = { 10: "", 11: '{"order": 11, "total": }', 12: "" };
  return { name: `order-${order}.json`, content: broken[order] ?? `{"order": ${order}, "total": 42}` };
});

const DEMO_CHECK =
  'const fs = require("node:fs"); const text = fs.readFileSync(process.argv[1], "utf8"); if (text === "") { console.error("fatal: the file is empty"); process.exit(4); } console.log("order", JSON.parse(text).order, "is fine");';

const demo = command({
  summary: "Run a small map over real files, some of which fail, to try Redrive out.",
  description: "With --console it opens the web console on a store in memory with failures of several kinds.",
  examples: ["redrive demo", "redrive demo --console"],
  options: {
    showsConsole: option.flag("--console", "explore failures in the web console"),
    port: option.withDefault(
      option.count("--port <n>", "the port of the console; 0 selects a free one", 0),
      0,
    ),
    staysClosed: option.flag("--no-browser", "print the link of the console instead of opening a browser"),
  },
  run: async (context, { showsConsole, ...serving }) => {
    if (showsConsole) return showDemo(context, serving);
    const folder = mkdtempSync(join(tmpdir(), "redrive-demo-"));
    const path = join(folder, "files.json");
    for (const { name, content } of DEMO_FILES) writeFileSync(join(folder, name), content);
    writeFileSync(path, JSON.stringify(DEMO_FILES.map(({ name }) => ({ path: name }))));
    context.note(`Checking ${DEMO_FILES.length} small files in ${folder}, four at a time:\n`);
    context.note(
      "  redrive map --input files.json --id-field path -j 4 --retries 1 -- node -e '…' '${item.path}'\n",
    );
    const spec: MapSpec = {
      command: [process.execPath, "-e", DEMO_CHECK, "${item.path}"],
      cwd: folder,
      input: { path, idField: "path" },
      jobs: 4,
      graceMs: DEFAULT_GRACE_MS,
      policy: { ...DEFAULT_POLICY, maxAttempts: 2, backoff: { kind: "fixed", delayMs: 200, jitter: false } },
    };
    const code = await runWithSummary(context, { creates: true }, (deps, { onJob, onNotice }) =>
      startMap(deps, { onJob, onNotice, spec }),
    );
    context.note(`\nThree files are broken on purpose. Repair one in ${folder}, then retry.`);
    // With `npm start` in a clone, the program is not in PATH.
    if (context.terminal.env.npm_lifecycle_event === "start")
      context.note("In this folder, type `npx redrive` for `redrive`.");
    return code === EXIT.lettersLeft ? EXIT.done : code; // the failures are part of the demo
  },
});

/** The store is in memory, so that the demo leaves no files behind. */
async function showDemo(
  context: Context,
  serving: { readonly port: number; readonly staysClosed: boolean },
): Promise<number> {
  const [{ openDemoStore }, { serveConsole }] = await Promise.all([
    import("../demo/demo-store.ts"),
    import("./console.ts"),
  ]);
  const { engine, home, close } = await openDemoStore();
  try {
    return await serveConsole(context, engine, { ...serving, home });
  } finally {
    await close();
  }
}

export const commands = { map, resume, demo };
