/** `redrive demo`: a small real map over real files, some of which fail, and what a newcomer can type next. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startMap } from "../../job/map.ts";
import { DEFAULT_GRACE_MS } from "../../job/map-spec.ts";
import { DEFAULT_POLICY } from "../../retry/policy.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { runForPerson } from "../run-for-person.ts";

/** What is to be checked: most are fine, three are broken, in two ways. */
const FILES: readonly (readonly [name: string, content: string])[] = [
  ...Array.from(
    { length: 9 },
    (_, index) => [`order-${index + 1}.json`, `{"order": ${index + 1}, "total": 42}`] as const,
  ),
  ["order-10.json", ""],
  ["order-11.json", '{"order": 11, "total": }'],
  ["order-12.json", ""],
];

const CHECK =
  'const fs = require("node:fs"); const text = fs.readFileSync(process.argv[1], "utf8"); if (text === "") { console.error("fatal: the file is empty"); process.exit(4); } console.log("order", JSON.parse(text).order, "is fine");';

export async function demo(context: Context): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "redrive-demo-"));
  for (const [name, content] of FILES) writeFileSync(join(folder, name), content);
  writeFileSync(join(folder, "files.json"), JSON.stringify(FILES.map(([name]) => ({ path: name }))));
  context.note(`Checking ${FILES.length} small files in ${folder}, four at a time:\n`);
  context.note(
    "  redrive map --input files.json --id-field path --jobs 4 --retries 1 -- node -e '…' '${item.path}'\n",
  );
  const code = await runForPerson(context, { creates: true }, (deps, watch) =>
    startMap(deps, {
      onJob: watch.onJob,
      onNotice: watch.onNotice,
      spec: {
        command: [process.execPath, "-e", CHECK, "${item.path}"],
        cwd: folder,
        input: { path: join(folder, "files.json"), idField: "path" },
        jobs: 4,
        graceMs: DEFAULT_GRACE_MS,
        policy: {
          ...DEFAULT_POLICY,
          maxAttempts: 2,
          backoff: { kind: "fixed", delayMs: 200, jitter: false },
        },
      },
    }),
  );
  context.note(`\nThree files are broken on purpose. Mend one in ${folder}, then retry.`);
  // `npm start` in a clone: the program is not in PATH there.
  if (context.terminal.env.npm_lifecycle_event === "start")
    context.note("In this folder, type `npx redrive` for `redrive`.");
  return code === EXIT.lettersLeft ? EXIT.done : code; // what was to be shown has been shown
}
