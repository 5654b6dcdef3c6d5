/** `redrive run|validate|init`: runs, checks and creates workflows. */
import { writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { startWorkflow } from "../../run/workflow.ts";
import { readText } from "../../std/files.ts";
import { missingPrograms } from "../../workflow/missing-programs.ts";
import type { Workflow } from "../../workflow/model.ts";
import { readProdigyCheckpoint } from "../../workflow/prodigy/checkpoint.ts";
import { parseWorkflow, problemText, requireWorkflow } from "../../workflow/read-workflow.ts";
import { digestOf, MERGE_MODES, type WorkflowSpec } from "../../workflow/workflow-spec.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT, userError, WRITABLE_FILE } from "../exit-code.ts";
import { runWithSummary } from "../interactive-run.ts";
import * as option from "../options.ts";
import { counted } from "../render/text.ts";
import { withItems } from "../sequence-items.ts";
import { otherFiles, readVariables, readWorkflow, varFile } from "../workflow-input.ts";

const file = argument("<workflow>", "the YAML file");

const profile = option.text("--profile <name>", "the workflow profile whose variables to use");

const run = command({
  summary: "Run a workflow: setup, an agent for each item, reduce, merge.",
  examples: ["redrive run workflow.yml --dry-run", "redrive run workflow.yml -j 4 --var region=eu"],
  arguments: { file },
  options: {
    dryRun: option.flag("--dry-run", "print the items, the first commands and the policy; run nothing"),
    concurrency: option.concurrency("how many agents to run at a time (default: the workflow's setting)"),
    variables: option.repeated("--var <name=value>", "a variable of the workflow; may be repeated"),
    varFile,
    profile,
    iterations: option.count("-n, --iterations <n>", "for a workflow with steps: how often to run them", 1),
    arguments: option.repeated(
      "--args <value>",
      "for a workflow with steps: run them for this argument, ${item}; may be repeated",
    ),
    files: option.repeated(
      "--map <pattern>",
      "for a workflow with steps: run them for each file that matches; may be repeated",
    ),
    checkpoint: option.word(
      "--checkpoint <file>",
      "continue an interrupted Prodigy run from this checkpoint",
      { conflicts: ["iterations", "args", "map"] },
    ),
    merge: option.withDefault(
      option.choice(
        "--merge <mode>",
        "at the end: merge the job's branch into the current branch, ask first, or do not merge",
        MERGE_MODES,
      ),
      "auto",
    ),
    newBranch: option.text(
      "--branch <name>",
      "put the work on this new branch, e.g. for a pull request, instead of the current branch",
    ),
    budget: option.budget,
    keepEvidence: option.keepEvidence,
    storeWaitMs: option.storeWaitMs,
    quiet: option.quiet,
  },
  run: async (
    context,
    {
      file: name,
      dryRun: isPreview,
      concurrency: maxParallel,
      variables: given = [],
      varFile: variableFile,
      profile: chosen,
      iterations,
      arguments: values,
      files,
      checkpoint: checkpointFile,
      merge,
      newBranch,
      budget,
      ...flags
    },
  ) => {
    const { cwd } = context.terminal;
    const path = resolve(cwd, name);
    const text = readWorkflow(path, name);
    const variables = readVariables(context, variableFile, given);
    const options = {
      variables: Object.keys(variables),
      profile: chosen,
      files: otherFiles(context, path),
    };
    const checkpoint =
      checkpointFile === undefined
        ? undefined
        : readProdigyCheckpoint(readCheckpointFile(resolve(cwd, checkpointFile)), checkpointFile);
    const parsed = requireWorkflow(text, name, {
      ...options,
      environment: environmentOf(context),
      ...(checkpoint && { checkpoint }),
    });
    const workflow = withItems(parsed, { iterations, arguments: values, files }, cwd);
    const spec: WorkflowSpec = {
      workflow: maxParallel === undefined ? workflow : { ...workflow, map: { ...workflow.map, maxParallel } },
      file: path,
      digest: digestOf(text),
      cwd,
      variables,
      mergeMode: merge,
      ...(chosen !== undefined && { profile: chosen }),
      ...(newBranch !== undefined && { newBranch }),
      ...(budget && { budget }),
      ...(flags.keepEvidence && { keepEvidence: true }),
    };
    if (isPreview) return (await import("../dry-run.ts")).dryRun(context, spec);
    return runWithSummary(context, { ...flags, creates: true }, (deps, watch) =>
      startWorkflow(deps, spec, watch),
    );
  },
});

function readCheckpointFile(path: string): string {
  try {
    return readText(path);
  } catch (error) {
    throw userError("usage", `The checkpoint ${path} cannot be read.`, "Give an existing file.", error);
  }
}

function environmentOf({ terminal: { env } }: Context): (name: string) => string | undefined {
  return (name) => env[name];
}

const validate = command({
  summary: "Check a workflow and print every problem with its line.",
  examples: ["redrive validate workflow.yml"],
  arguments: { file },
  options: {
    variables: option.repeated("--var <name=value>", "a variable that will be passed to `redrive run`"),
    varFile,
    profile,
  },
  run: async (context, { file: name, variables: given = [], varFile: variableFile, profile: chosen }) => {
    const path = resolve(context.terminal.cwd, name);
    const parsed = parseWorkflow(readWorkflow(path, name), {
      file: name,
      variables: [
        ...Object.keys(readVariables(context, variableFile, [])),
        ...given.map((one) => one.split("=", 1)[0] ?? ""),
      ],
      profile: chosen,
      environment: environmentOf(context),
      files: otherFiles(context, path),
    });
    const problems = "problems" in parsed ? parsed.problems : [];
    const missing = "workflow" in parsed ? warningsOf(context, parsed.workflow) : [];
    const warnings = [...parsed.warnings, ...missing];
    const isValid = problems.length === 0;
    const document = { valid: isValid, problems, warnings };
    const lines = isValid
      ? [`${name} is valid.`]
      : [...problems.map((problem) => problemText(problem, name)), `${counted(problems.length, "problem")}.`];
    lines.push(...parsed.warnings.map((warning) => `Warning: ${problemText(warning, name)}`));
    lines.push(...missing.map(({ message }) => `Warning: ${message}`));
    return context.answer(document, () => `${lines.join("\n")}\n`, isValid ? EXIT.done : EXIT.usage);
  },
});

type Warning = { readonly program: string; readonly where: string; readonly message: string };

/** Warns about missing programs. Ignores env_files, which only a run reads and which may not exist yet. */
function warningsOf({ terminal: { cwd } }: Context, workflow: Workflow): readonly Warning[] {
  const phases = ["setup", "map", "reduce", "merge"] as const;
  return missingPrograms(workflow, { phases, cwd, env: workflow.env }).map(({ program, where }) => ({
    program,
    where,
    message: `${where}: the program ${program} was not found in PATH.`,
  }));
}

const ITEMS_FILE = "items.json";

const init = command({
  summary: "Write a commented example workflow that runs without changes.",
  examples: ["redrive init", "redrive init nightly.yml"],
  arguments: { file: argument("[file]", "the file (default: workflow.yml)") },
  options: { force: option.flag("--force", "overwrite an existing file") },
  run: async (context, { file: name = "workflow.yml", force }) => {
    const { cwd } = context.terminal;
    const path = resolve(cwd, name);
    const itemsPath = join(cwd, ITEMS_FILE);
    if (basename(path) === ITEMS_FILE && dirname(path) === dirname(itemsPath))
      throw userError("usage", `${ITEMS_FILE} is reserved for the items.`, "Name another file.");
    if (!write(path, FIRST_WORKFLOW, force)) {
      const hint = "Name another file, or overwrite it with --force.";
      throw userError("usage", `${name} already exists and was not changed.`, hint);
    }
    const written = write(itemsPath, FIRST_ITEMS, false) ? [name, ITEMS_FILE] : [name];
    const next = `  redrive run ${name} --dry-run\n  redrive run ${name}\n`;
    return context.answer({ written }, () => `Wrote ${written.join(" and ")}. Next:\n\n${next}`);
  },
});

const migrate = command({
  summary: "Convert a Prodigy workflow, with comments where its behavior differs.",
  examples: ["redrive migrate-workflow old.yml", "redrive migrate-workflow old.yml --output new.yml"],
  arguments: { file },
  options: {
    output: option.text("-o, --output <file>", "write the workflow to this file instead of printing it"),
    force: option.flag("--force", "overwrite an existing file"),
  },
  run: async (context, { file: name, output, force }) => {
    const { cwd } = context.terminal;
    const { migrateWorkflow } = await import("../../workflow/prodigy/migrate.ts");
    const path = resolve(cwd, name);
    const migrated = migrateWorkflow(readWorkflow(path, name), {
      environment: environmentOf(context),
      files: otherFiles(context, path),
    });
    const parsed =
      "text" in migrated
        ? parseWorkflow(migrated.text, { file: name, variables: migrated.variables })
        : migrated;
    const problems = "problems" in parsed ? parsed.problems : [];
    if (!("text" in migrated) || problems.length > 0) {
      const list = problems.map((problem) => `${problemText(problem, name)}\n`).join("");
      return context.answer(
        { changed: false, problems },
        () => `${list}${counted(problems.length, "problem")}.\n`,
        EXIT.usage,
      );
    }
    const { text, notes, isChanged } = migrated;
    if (output === undefined) return context.answer({ text, notes, changed: isChanged }, () => text);
    if (!write(resolve(cwd, output), text, force)) {
      const hint = "Name another file, or overwrite it with --force.";
      throw userError("usage", `${output} already exists and was not changed.`, hint);
    }
    const differs =
      notes.length === 0 ? "" : ` ${counted(notes.length, "comment")} in it describe the differences.`;
    return context.answer(
      { written: output, notes, changed: isChanged },
      () => `Wrote ${output}.${differs}\n`,
    );
  },
});

/** Writes a file; returns false if it exists and was not overwritten. */
function write(path: string, text: string, isForced: boolean): boolean {
  try {
    writeFileSync(path, text, { flag: isForced ? "w" : "wx" });
    return true;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    if (code === "EEXIST") return false;
    throw userError("usage", `${path} cannot be written (${code}).`, WRITABLE_FILE, error);
  }
}

export const commands = { run, validate, init, "migrate-workflow": migrate };

const FIRST_ITEMS = `[
  { "name": "apples", "amount": 3, "price": 0.4 },
  { "name": "pears", "amount": 0, "price": 0.5 },
  { "name": "quinces", "amount": 7, "price": 1.2 },
  { "name": "bread & butter", "amount": 1, "price": 2 }
]
`;

const FIRST_WORKFLOW = `# A Redrive workflow: setup runs once, map runs its steps for each item, reduce runs once at the end.
#   redrive validate workflow.yml        every mistake, with line and column
#   redrive run workflow.yml --dry-run   which items, and the first command
#   redrive run workflow.yml             items that fail are kept: redrive dlq list
name: first

setup:
  - shell: date +%F
    capture: today                     # later \${setup.today}

map:
  input: items.json                    # or a command: { command: "ls *.md" }
  # json_path: $.items[*]              # when the items are inside a larger document
  id_field: name                       # identifies an item; default: its content
  filter: item.amount > 0              # CEL; has(item.x) checks for a field
  sort_by: price DESC
  max_parallel: 4
  agent_timeout_secs: 600
  isolation: none                      # worktree: each item in its own git worktree, merged when it is done
  agent_template:                      # the steps for each item
    # Values are always quoted for the shell; a failing step fails the item.
    - shell: echo "\${item.amount} \${item.name} on \${setup.today}"
      capture: line
      timeout: 30s
    - shell: test -n "\${line}"
    # An agent instead of a script (with isolation: worktree, its commits are merged):
    # - claude: "Describe \${item.name} in docs/\${item_id}.md, then commit."
    #   commit_required: true
    # - agent: { command: codex exec, prompt: "Check \${item.name}." }

reduce:
  - shell: echo "\${map.successful} of \${map.total} done, \${map.failed} failed. Results are in \${map.results_file}"

error_policy:
  on_item_failure: dlq                 # or retry, skip, stop, custom
  retry_config: { max_attempts: 3, backoff: exponential, initial_delay: 1s }
`;
