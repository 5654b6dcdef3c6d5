/** The items of a workflow torture run, the workflow, and its repository. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const KINDS = [
  [20, "quick"],
  [16, "slow"],
  [16, "late"], // has committed long before it ends
  [12, "messy"], // leaves the commit to the runner
  [8, "half"], // commits a part, leaves the rest
  [8, "clash"], // writes where others write
  [12, "flaky"], // fails in its first attempts
  [8, "bad"], // always fails, with commits and changes in its worktree
];

/** Creates `count` items, of which at least the first two always fail. */
export function makeItems(chance, count) {
  return Array.from({ length: count }, (_, index) => ({
    id: `item-${String(index).padStart(3, "0")}`,
    kind: index < 2 ? "bad" : chance.pick(KINDS),
    failures: chance.between(1, 2),
    seconds: (chance.between(1, 50) / 100).toFixed(2),
  }));
}

/** Creates a repository with the workflow and its items, all committed. */
export function makeProject(folder, items) {
  mkdirSync(join(folder, "src"), { recursive: true });
  const files = {
    ".gitignore": "*.log\n",
    "items.json": JSON.stringify(items, null, 1),
    "workflow.yml": WORKFLOW,
    "shared.txt": "nobody\n",
  };
  for (let number = 0; number < 40; number += 1) files[`src/file-${number}.txt`] = `file ${number}\n`;
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  git(folder, "init", "-q", "-b", "main");
  git(folder, "config", "user.name", "Tess Ter");
  git(folder, "config", "user.email", "tess@example.org");
  git(folder, "add", "-A");
  git(folder, "commit", "-q", "-m", "first");
}

/** Runs git and returns its output. */
export function git(folder, ...args) {
  return execFileSync("git", args, {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trimEnd();
}

const AGENT = fileURLToPath(new URL("workflow-agent.sh", import.meta.url));

/** Setup, reduce and merge take a moment each, so that strikes hit them as well. */
const WORKFLOW = `name: torture
mode: mapreduce
setup:
  - shell: sleep 0.05 && echo "set up" > setup.txt
  - shell: git add setup.txt && git diff --cached --quiet || git commit -q -m "set up"
map:
  input: items.json
  json_path: "$[*]"
  id_field: id
  max_parallel: 6
  agent_template:
    - shell: bash --norc ${JSON.stringify(AGENT).slice(1, -1)} \${item.id} \${item.kind} \${item.failures} \${item.seconds}
reduce:
  - shell: sleep 0.1 && ls work > list.txt
  - shell: sleep 0.1 && wc -l < list.txt > count.txt
merge:
  - shell: sleep 0.1 && test -s count.txt
error_policy:
  retry_config: { max_attempts: 3, initial_delay: 20ms, max_delay: 100ms }
`;
