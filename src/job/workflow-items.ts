/** The items of a workflow's map phase: from its file, or from what its command prints. */
import { createReadStream, existsSync, rmSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { Readable } from "node:stream";
import { WorkError } from "../errors.ts";
import { rawSecretProblem } from "../workflow/program.ts";
import { type Selection, type SelectionInput, selectFrom } from "../workflow/select-items.ts";
import { fillScript } from "../workflow/shell-values.ts";
import { removeValueFiles, writeValueFiles } from "../workflow/value-files.ts";
import { expand } from "../workflow/variables.ts";
import { jobVariables, type WorkflowKit } from "./workflow-kit.ts";

export async function selectWorkflowItems(kit: WorkflowKit, stop: AbortSignal): Promise<Selection> {
  const { input } = kit.spec.workflow.map;
  if ("command" in input) return selectFromCommand(kit, input.command, stop);
  const path = expand(input.file, jobVariables(kit));
  if (!path.ok) throw new WorkError("usage", `map.input: ${path.message}`);
  const file = isAbsolute(path.value) ? path.value : join(kit.site.root, path.value);
  if (kit.site.head && !existsSync(file)) throw notInCommit(path.value);
  return selectFrom({ file }, kit.spec.workflow.map);
}

/** The file may well be in the user's folder, where no agent sees it. */
function notInCommit(path: string): WorkError {
  return new WorkError(
    "input_invalid",
    `The input ${path} is not in the commit that the agents start from.`,
    {
      hint: "Commit it, or let a step of setup write it.",
    },
  );
}

async function selectFromCommand(kit: WorkflowKit, command: string, stop: AbortSignal): Promise<Selection> {
  const script = fillScript(command, jobVariables(kit));
  if (!script.ok) throw new WorkError("usage", `map.input.command: ${script.message}`);
  const { text, env, files } = script.value;
  const problem = rawSecretProblem(command, text, kit.secretValues);
  if (problem !== undefined) throw new WorkError("usage", `map.input.command: ${problem}`);
  const prefix = `${kit.workshop.scratch}/input`;
  const stdoutPath = `${prefix}.out`;
  const stderrPath = `${prefix}.err`;
  const launched = kit.workshop.launcher.launch({
    argv: ["sh", "-c", text],
    cwd: kit.site.root,
    env: { ...kit.env, ...env, ...writeValueFiles(files, prefix) },
    stdin: "",
    stdoutPath,
    stderrPath,
  });
  const onStop = () => void launched.end(0);
  stop.addEventListener("abort", onStop, { once: true });
  const ended = await launched.ended;
  stop.removeEventListener("abort", onStop);
  removeValueFiles(Object.keys(files), prefix);
  if (ended.exitCode !== 0) {
    const said = kit.masker.mask(ended.stderr.inline?.toString("utf8").trim() ?? "");
    throw new WorkError(
      "input_invalid",
      `The command of map.input failed (${ended.exitCode ?? ended.signal ?? ended.startError}): ${said}`,
    );
  }
  const stream = ended.stdout.inline
    ? Readable.from([ended.stdout.inline])
    : ended.stdout.bytes === 0
      ? Readable.from([])
      : createReadStream(stdoutPath);
  const source: SelectionInput = { stream, name: "map.input.command" };
  try {
    return await selectFrom(source, kit.spec.workflow.map);
  } finally {
    rmSync(stdoutPath, { force: true });
    rmSync(stderrPath, { force: true });
  }
}
