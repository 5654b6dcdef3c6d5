/** `redrive run`: a workflow, from its YAML file to its end. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { WorkError } from "../../errors.ts";
import { startWorkflow } from "../../job/workflow.ts";
import { digestOf, type MergeMode, type WorkflowSpec } from "../../job/workflow-spec.ts";
import type { Workflow } from "../../workflow/model.ts";
import { requireWorkflow } from "../../workflow/schema.ts";
import type { Context } from "../context.ts";
import { countOption } from "../option.ts";
import { runForPerson, type WatchOptions } from "../run-for-person.ts";

interface RunFlags extends WatchOptions {
  readonly dryRun?: boolean;
  readonly maxParallel?: string;
  readonly var?: string[];
  readonly merge: MergeMode;
  readonly keepEvidence?: boolean;
}

export async function run(context: Context, file: string, flags: RunFlags): Promise<number> {
  const spec = specFrom(context, file, flags);
  if (flags.dryRun) return (await import("../dry-run.ts")).dryRun(context, spec);
  return runForPerson(context, { ...flags, creates: true }, (deps, watch) =>
    startWorkflow(deps, spec, watch),
  );
}

function specFrom({ terminal }: Context, file: string, flags: RunFlags): WorkflowSpec {
  const path = resolve(terminal.cwd, file);
  const text = readWorkflow(path);
  const variables = Object.fromEntries((flags.var ?? []).map(readVariable));
  const workflow = requireWorkflow(text, file, { variables: Object.keys(variables) });
  const maxParallel = countOption("--max-parallel", flags.maxParallel, 1);
  return {
    workflow: maxParallel === undefined ? workflow : withParallel(workflow, maxParallel),
    file: path,
    digest: digestOf(text),
    cwd: terminal.cwd,
    variables,
    mergeMode: flags.merge,
    ...(flags.keepEvidence && { keepEvidence: true }),
  };
}

function withParallel(workflow: Workflow, maxParallel: number): Workflow {
  return { ...workflow, map: { ...workflow.map, maxParallel } };
}

function readWorkflow(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new WorkError("usage", `The workflow ${path} cannot be read.`, {
      cause: error,
      hint: "`redrive init` writes one that runs as it is.",
    });
  }
}

function readVariable(text: string): [string, string] {
  const match = /^([A-Za-z_]\w*)=(.*)$/s.exec(text);
  if (match?.[1] !== undefined) return [match[1], match[2] ?? ""];
  throw new WorkError("usage", `--var: "${text}" is not NAME=VALUE.`);
}
