/** The items of a sequential workflow: its iterations, and its arguments or files from the command line. */
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { rememberedLinear } from "../std/pattern.ts";
import { type FixedItem, iterationItems, type Workflow } from "../workflow/model.ts";
import { userError } from "./exit-code.ts";

export interface SequenceOptions {
  readonly iterations?: number | undefined;
  readonly arguments?: readonly string[] | undefined;
  /** File patterns, such as `specs/*.md`. */
  readonly files?: readonly string[] | undefined;
}

export function withItems(workflow: Workflow, given: SequenceOptions, cwd: string): Workflow {
  const { iterations, arguments: values = [], files = [] } = given;
  if (iterations === undefined && given.arguments === undefined && given.files === undefined) return workflow;
  if (!workflow.map.isSequential) {
    const message =
      "--iterations, --args and --map are for workflows with steps, and this one has a map phase.";
    throw userError("usage", message, "Its items come from map.input. Set a variable with --var.");
  }
  const found = files.flatMap((pattern) => filesOf(pattern, cwd));
  const all = [...values, ...found];
  if (given.files !== undefined && all.length === 0)
    throw userError("usage", `No file matches ${files.join(" ")}.`, "Quote the pattern: --map 'specs/*.md'.");
  const rounds = iterationItems(iterations ?? workflow.map.iterations ?? 1);
  const items = rounds.flatMap((round, number): readonly FixedItem[] => {
    if (all.length === 0) return [round];
    const suffix = rounds.length === 1 ? "" : `-${number + 1}`;
    return all.map((data, index) => ({ id: `arg-${index + 1}${suffix}`, data }));
  });
  return {
    ...workflow,
    map: { ...workflow.map, input: { items }, ...(all.length > 0 && { hasArguments: true }) },
  };
}

/** Returns the matching files, sorted by name. Hidden folders and node_modules are not searched. */
function filesOf(pattern: string, cwd: string): readonly string[] {
  const matches = rememberedLinear(`^${sourceOf(pattern.replace(/^\.\//, ""))}$`);
  const found: string[] = [];
  const folders = [cwd];
  for (const folder of folders)
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules")
        folders.push(path);
      else if (entry.isFile() && matches(relative(cwd, path))) found.push(relative(cwd, path));
    }
  return found.sort();
}

const PARTS = /\*\*\/|\*\*|\*|\?|\{([^}]*)\}|[.+^$()|[\]\\{}]/g;

function sourceOf(pattern: string): string {
  return pattern.replace(PARTS, (part, choices: string | undefined) => {
    if (part === "**/") return "(?:.*/)?";
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    if (choices !== undefined) return `(?:${choices.split(",").map(sourceOf).join("|")})`;
    return `\\${part}`;
  });
}
