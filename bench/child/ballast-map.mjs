/** Runs a map with the library in a process that holds a given amount of additional memory. */
import { LIBRARY } from "../kit.mjs";

const { folder, input, ballastMb } = JSON.parse(process.argv[2]);
const { DEFAULT_GRACE_MS, DEFAULT_POLICY, openStore, startMap } = await import(LIBRARY);

const PAGE_BYTES = 4096;
const ballast = Buffer.allocUnsafeSlow(ballastMb * 1024 ** 2);
for (let at = 0; at < ballast.length; at += PAGE_BYTES) ballast[at] = at & 0xff;

const engine = await openStore(`sqlite:${folder}/redrive.db`);
const { summary } = await startMap(
  { engine, home: folder, stop: new AbortController().signal },
  {
    spec: {
      command: ["true", "{}"],
      cwd: folder,
      input: { path: input },
      jobs: 8,
      graceMs: DEFAULT_GRACE_MS,
      policy: DEFAULT_POLICY,
    },
  },
);
await engine.close();
const { user, system } = process.cpuUsage();
console.log(
  JSON.stringify({
    rate: (summary.succeeded / summary.durationMs) * 1000,
    cpuUs: (user + system) / summary.succeeded,
    rssMb: process.memoryUsage.rss() / 1024 ** 2,
    touched: ballast[PAGE_BYTES],
  }),
);
