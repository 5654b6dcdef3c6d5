/** The map that runs in the demo. It takes a few minutes, prints output, and some of its items fail. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_POLICY } from "../../retry/policy.ts";
import { startMap } from "../../run/map.ts";
import { DEFAULT_GRACE_MS } from "../../run/map-spec.ts";
import type { RunDeps } from "../../run/run-job.ts";

const PICTURES = 240;

/** Every ninth picture has a colour space that the converter does not know. */
const CONVERT = `
const [path, size] = [process.argv[1], Number(process.argv[2])];
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
console.log("reading " + path);
for (let part = 1; part <= size; part += 1) {
  await wait(700);
  console.log("scaled part " + part + " of " + size);
  if (size % 9 === 0 && part === 2) { console.error("error: unsupported colour space CMYK in " + path); process.exit(1); }
}
console.log("wrote " + path.replace(".jpg", "-small.jpg"));`;

export function runThumbnails(deps: Pick<RunDeps, "engine" | "home" | "clock">): {
  stop(): Promise<unknown>;
} {
  const { home } = deps;
  const path = join(home, "pictures.json");
  const pictures = Array.from({ length: PICTURES }, (_, index) => ({
    path: `catalogue/${2100 + index * 3}.jpg`,
    parts: 3 + ((index * 5) % 11),
  }));
  writeFileSync(path, JSON.stringify(pictures));
  const stop = new AbortController();
  const ended = startMap(
    { ...deps, stop: stop.signal },
    {
      name: "thumbnails",
      spec: {
        command: [
          process.execPath,
          "--input-type=module",
          "-e",
          CONVERT,
          "--",
          "${item.path}",
          "${item.parts}",
        ],
        cwd: home,
        input: { path, idField: "path" },
        jobs: 3,
        graceMs: DEFAULT_GRACE_MS,
        policy: { ...DEFAULT_POLICY, maxAttempts: 1 },
      },
    },
  );
  return {
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
}
