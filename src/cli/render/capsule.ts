/** Renders the parts of a capsule other than its letter. */
import { type Capsule, type CapsuleContent, contentBytes, patchesOf } from "../../dead-letter/capsule.ts";
import { isJsonObject } from "../../std/json.ts";
import { detailsText } from "./layout.ts";
import { capped, clean, type Paint, shellWord } from "./text.ts";

/** Renders the sections; `path` is the opened file. */
export function capsuleText(capsule: Capsule, { paint, path }: { paint: Paint; path: string }): string {
  const sections: [title: string, lines: readonly string[]][] = [
    ["Capsule", madeLines(capsule)],
    ["Job", jobLines(capsule)],
    ["Environment", Object.entries(capsule.environment).map(([name, value]) => `${name}=${value}`)],
    ["Events", capsule.events.map(eventLine)],
    ["Files", capsule.files.map((file) => `${fileWord(file)}  ${sizeWord(file)}  ${file.path}`)],
    ["Changes", changeLines(capsule)],
    ["Not included", capsule.missing],
    ["To unpack", [`redrive dlq capsule open ${shellWord(path) ?? "FILE"} -o FOLDER`]],
  ];
  const shown = sections.map(([title, lines]) => ({ title, lines: lines.map(clean) }));
  return detailsText(shown, { paint, columns: Number.POSITIVE_INFINITY });
}

function madeLines({ made_at, redrive_version, machine, git }: Capsule): readonly string[] {
  const where =
    git === null ? "no git repository" : `git ${git.head.slice(0, 10)} on ${git.branch ?? "no branch"}`;
  return [
    `made ${made_at} by Redrive ${redrive_version}`,
    `${machine.platform} ${machine.arch}, Node ${machine.node}, ${where}`,
  ];
}

function jobLines({ job }: Capsule): readonly string[] {
  const id = job.name === job.job_id ? "" : ` (${String(job.job_id)})`;
  const lines = [`${String(job.name)}${id}, a ${String(job.kind)} in ${String(job.cwd)}`];
  if (Array.isArray(job.command))
    lines.push(job.command.map((word) => shellWord(String(word)) ?? "…").join(" "));
  const { workflow } = job;
  if (!isJsonObject(workflow)) return lines;
  lines.push(`${String(workflow.file)}${workflow.is_unchanged === true ? "" : " (changed or gone since)"}`);
  if (typeof workflow.text === "string") lines.push(...workflow.text.trimEnd().split("\n"));
  return lines;
}

function eventLine({ at, type, attempt }: Capsule["events"][number]): string {
  return `${String(at)}  ${String(type)}${attempt === undefined ? "" : `  attempt ${String(attempt)}`}`;
}

function fileWord({ kind, attempt_number }: Capsule["files"][number]): string {
  const what = { log: "log", json_log: "agent's log", evidence: "evidence" }[kind];
  return `attempt ${attempt_number}: ${what}`;
}

function sizeWord({ bytes, dropped_bytes }: CapsuleContent): string {
  return dropped_bytes === 0 ? `${bytes} bytes` : `${bytes} bytes, ${dropped_bytes} of them left out`;
}

const PATCH_LINES_MAX = 200;

function changeLines({ changes }: Capsule): readonly string[] {
  if (changes === null) return [];
  const { worktree_path, branch_name, base, head } = changes;
  const from = base === null ? "" : `, from ${base.slice(0, 10)}`;
  const lines = [
    `${worktree_path}, branch ${branch_name}${head === null ? "" : ` at ${head.slice(0, 10)}`}${from}`,
  ];
  for (const [name, patch] of patchesOf(changes)) {
    lines.push("", `${name}.patch`, ...patchLines(contentBytes(patch).toString()));
  }
  return lines;
}

function patchLines(patch: string): readonly string[] {
  const lines = patch.trimEnd().split("\n");
  return capped(lines, PATCH_LINES_MAX, () => `… (${lines.length} lines; -o FOLDER writes all)`);
}
