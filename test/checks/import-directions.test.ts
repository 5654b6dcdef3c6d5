/** Imports point one way, so that a reader who follows an item never meets a road that leads back. */
import { describe, expect, it } from "vitest";
import { placeOf, readSources } from "./sources.ts";

const GROUND = ["item", "std", "errors.ts"];
/** What each part of src/ may import besides itself, and why. A new part needs a line here, and no line says more than is true. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  // The ground. Durations and other readers of user text refuse with a RedriveError.
  "errors.ts": [],
  std: ["errors.ts"],
  item: ["std"],
  "engine.ts": ["item", "std"],
  // The stages of an item's life; none of them knows the job that puts them together.
  intake: GROUND,
  triage: GROUND,
  retry: [...GROUND, "triage"], // a failure's message is cleaned and cut as its pattern is
  attempt: [...GROUND, "retry"], // a failed attempt is classified where it is recorded
  "dead-letter": [
    ...[...GROUND, "engine.ts", "retry", "triage"], // a death has a judgement and a signature; the rest reads the store
    "intake", // letters from elsewhere are read as items are, and named by their content
    ...["workflow", "workspace"], // a capsule has the workflow and the changes in the worktree, without secrets
  ],
  lease: [...GROUND, "engine.ts", "retry", "dead-letter", "triage"], // a lost lease is decided, grouped and settled like any other
  runner: [...GROUND, "engine.ts", "lease", "attempt", "retry", "dead-letter", "triage"], // it hands the rules for groups on
  redrive: [
    ...[...GROUND, "engine.ts", "runner", "triage"], // it writes through the runner's storeRetry, and selects what is analysed
    "dead-letter", // what is deleted is archived first
    "attempt", // the command of a fix is ended with all that it started
  ],
  // A store as a whole: it is copied row by row, and only while nobody holds leases in it.
  store: [...GROUND, "engine.ts", "lease"],
  // YAML that people write: where a mistake stands, and in which words it is told.
  yaml: GROUND,
  // Git worktrees and plain folders. It reads where a workflow runs, and knows neither the store nor the runner.
  workspace: [...GROUND, "workflow", "triage"], // the title of a commit is cleaned as a message is
  // What an agent reports while it runs, read from the output that its attempt captures.
  agent: [...GROUND, "attempt", "retry"],
  // What is to be done, and how: it reads items as a map does, runs programs as an attempt does, and calls failures by
  // the same names. It knows no store, no runner, no job and no git.
  workflow: [...GROUND, "yaml", "intake", "agent", "attempt", "retry", "triage"],
  // Named queues: what they are told, what comes into them, and the worker that goes on until it is told to end.
  queue: [
    ...[...GROUND, "engine.ts", "lease", "attempt", "retry", "runner"],
    ...["dead-letter", "workspace"], // a summary has the numbers of the letters, and which of them need a worktree
    "intake", // items from files are read as those of a map are
    "redrive", // data is checked by the schemas that amendments are checked by
    "triage", // rules for groups are handed on
  ],
  // Receipts: a target is a queue whose items are sent to another service.
  delivery: [
    ...[...GROUND, "engine.ts", "attempt", "retry", "runner", "triage"],
    "redrive", // letters of an outage are sent again when the target takes receipts
    "queue", // the worker and the settings of queues
    "intake", // a receipt is known by its content as an item of a map is
    "workflow", // a token is masked as the secrets of a workflow are
  ],
  // Background services: limits, the letter directory, what a queue needs besides its workers, alerts and metrics.
  service: [
    "attempt", // the command of an alert channel is ended with all that it started
    ...[...GROUND, "engine.ts", "lease", "retry", "runner", "dead-letter", "redrive", "triage", "store"],
    "queue", // jobs are found and counted there
    "workspace", // a deleted job's worktrees go too, and a letter directory is named after its repository
  ],
  // What a job has done, as a text: read from its summary, its results and its letters.
  report: [...GROUND, "engine.ts", "queue", "agent", "triage"], // amounts are written as budgets are
  // The ways to start: map, workflow, worker, resume, retry. What puts a job's queue, its handler and the services together.
  run: [
    ...[
      ...GROUND,
      "engine.ts",
      "intake",
      "lease",
      "attempt",
      "retry",
      "runner",
      "redrive",
      "triage",
      "store",
    ],
    "dead-letter", // the library's manager keeps failures as letters
    ...["agent", "workflow", "workspace", "service"],
    "queue", // `redrive worker` works a queue with a command
    "delivery", // the letters of a target are sent again by what sent them before
  ],
  // What a person or a project has set: fixes in the form that redrive uses, and the home in which the file may lie.
  config: [...GROUND, "yaml", "agent", "redrive", "store", "retry", "triage", "service"], // rules for types, groups and alerts, in the forms that their parts use
  // The implementations know the contract and the ground, and nothing of the stages.
  engines: [...GROUND, "engine.ts"],
  // What programs call: the functions and objects of every part, behind a check of what is given to them.
  library: [
    ...[...GROUND, "engine.ts", "engines", "intake", "attempt", "retry", "dead-letter", "triage"],
    ...["redrive", "runner", "run", "queue", "delivery", "service", "store"],
  ],
  // What most programs need: the objects of the library.
  "index.ts": [...GROUND, "library", "retry"],
  // The low-level parts: the stages and the jobs.
  exports: [
    ...[...GROUND, "engine.ts", "library", "intake", "attempt", "retry", "dead-letter", "triage"],
    ...["redrive", "runner", "run", "queue", "delivery", "service", "store"],
    "server", // `redrive/otel` has the spans of requests too
  ],
  // The HTTP API calls the functions that the commands call, and never the command line.
  // The web page runs in a browser: of the rest it sees the client, the types of the contract, and pure functions.
  console: ["server", "std"],
  server: [
    ...[...GROUND, "engine.ts", "redrive", "queue", "service", "config"],
    ...["dead-letter", "triage"], // a letter's history, the algorithm of the groups
    ...["run", "runner"], // a redrive is continued as `ops resume` does
    ...["attempt", "store"], // the output of a running attempt, and where logs and evidence lie
    ...["lease", "retry", "intake"], // workers that are gone, words for backoffs, keys of receipts
    "delivery", // targets and their receipts
    "report",
  ],
  // The command line imports modules instead of index.ts, because a command loads only what it needs.
  cli: [
    ...[...GROUND, "engine.ts", "engines", "run", "redrive", "runner"],
    ...["intake", "attempt", "retry"], // words of options, and the form of what they make
    ...["dead-letter", "triage"], // a letter's story, the numbers, the analysis
    "service", // the numbers, the alerts, the limits
    "queue", // what queues are told, and what is in them
    "delivery", // what targets are told, and what is sent to them
    "store", // the copy of a store
    "report",
    "config",
    "server", // `serve` and `token`
    ...["agent", "workflow", "workspace"], // the lines of agents; `validate` runs nothing; `worktrees` looks after what jobs left
  ],
};

const sources = readSources();
const local = sources.flatMap(({ path, imports }) =>
  imports.filter((one) => !one.isPackage).map((one) => ({ path, ...one })),
);

/** Everything that is loaded with a file: what it imports, and what that imports, except for types and what is lazy. */
function loadedWith(path: string, loaded = new Set<string>()): ReadonlySet<string> {
  if (loaded.has(path)) return loaded;
  loaded.add(path);
  for (const one of local) {
    if (one.path === path && !one.isLazy && !one.isType) loadedWith(one.target, loaded);
  }
  return loaded;
}

describe("import directions", () => {
  it("the reader of sources finds the existing imports", () => {
    expect(sources.length).toBeGreaterThan(100);
    expect(local).toContainEqual({
      path: "runner/slots.ts",
      target: "retry/decide.ts",
      isPackage: false,
      isLazy: false,
      isType: false,
    });
    expect(local.filter((one) => one.isLazy).map((one) => one.target)).toContain("cli/commands/map.ts");
    const known = new Set(sources.map((source) => source.path));
    expect(local.filter((one) => !known.has(one.target) && !one.target.endsWith(".css"))).toEqual([]);
  });

  it("every part of src/ has a line in the table", () => {
    const places = new Set(sources.map((source) => placeOf(source.path)));
    expect([...places].filter((place) => ALLOWED[place] === undefined)).toEqual([]);
  });

  it("imports point one way", () => {
    const wrong = local
      .filter(({ path, target }) => {
        const [from, to] = [placeOf(path), placeOf(target)];
        return from !== to && !ALLOWED[from]?.includes(to);
      })
      .map(({ path, target }) => `${path} imports ${target}`);
    expect(wrong).toEqual([]);
  });

  it("no part imports what imports it, directly or indirectly", () => {
    const reach = (from: string, seen = new Set<string>()): ReadonlySet<string> => {
      for (const to of ALLOWED[from] ?? []) if (!seen.has(to)) reach(to, seen.add(to));
      return seen;
    };
    expect(Object.keys(ALLOWED).filter((place) => reach(place).has(place))).toEqual([]);
  });

  it("the table allows nothing that is unused", () => {
    const isUsed = (from: string, to: string) =>
      local.some((one) => placeOf(one.path) === from && placeOf(one.target) === to);
    const idle = Object.entries(ALLOWED).flatMap(([from, all]) =>
      all.filter((to) => !GROUND.includes(to) && !isUsed(from, to)).map((to) => `${from} → ${to}`),
    );
    expect(idle).toEqual([]);
  });

  it("an engine is named only by engines/open.ts, and loaded on demand", () => {
    const engineOf = (path: string) => /^engines\/([^/]+)\//.exec(path)?.[1];
    const wrong = local
      .filter(({ path, target, isLazy }) => {
        const engine = engineOf(target);
        const isShared = engine === "sql" && path.startsWith("engines/");
        if (engine === undefined || engineOf(path) === engine || isShared) return false;
        return path !== "engines/open.ts" || !isLazy;
      })
      .map(({ path, target }) => `${path} imports ${target}`);
    expect(wrong).toEqual([]);
    const asked = sources.filter(
      ({ path, text }) => path !== "engines/open.ts" && /[!=]==?\s*"(memory|sqlite|postgres)"/.test(text),
    );
    expect(asked.map((source) => source.path)).toEqual([]);
  });

  it("a client library is imported by its own engine only", () => {
    const usersOf = (library: RegExp) =>
      sources
        .filter(({ imports }) =>
          imports.some((one) => one.isPackage && !one.isType && library.test(one.target)),
        )
        .map((source) => source.path);
    expect(usersOf(/sqlite/)).toEqual(["engines/sqlite/session.ts"]);
    expect(usersOf(/^pg($|-)/).filter((path) => !path.startsWith("engines/postgres/"))).toEqual([]);
    expect(usersOf(/^pg$/)).not.toEqual([]);
  });

  it("the MCP SDK is loaded by the sessions that need it, on demand", () => {
    const users = sources.flatMap(({ path, imports }) =>
      imports
        .filter((one) => one.isPackage && one.target.startsWith("@modelcontextprotocol/") && !one.isType)
        .map(({ isLazy }) => ({ path, isLazy })),
    );
    expect([...new Set(users.map(({ path }) => path))]).toEqual(["delivery/mcp.ts", "server/mcp/sdk.ts"]);
    expect(users.filter(({ isLazy }) => !isLazy)).toEqual([]);
  });

  it("what the command line starts with loads no command, no engine and no workflow", () => {
    expect([...loadedWith("cli/main.ts")]).toEqual(["cli/main.ts", "cli/load-program.ts", "cli/v8-flags.ts"]);
    const eager = [...loadedWith("cli/program.ts")];
    expect(eager).toContain("cli/context.ts");
    expect(
      eager.filter((path) => /^(cli\/commands|engines\/\w+|workflow|workspace|runner)\//.test(path)),
    ).toEqual([]);
    const packages = sources
      .filter(({ path }) => eager.includes(path))
      .flatMap(({ imports }) => imports.filter((one) => one.isPackage && !one.isLazy && !one.isType))
      .map((one) => one.target)
      .filter((name) => !name.startsWith("node:"));
    expect([...new Set(packages)]).toEqual(["commander"]);
  });

  it("the library loads no workflow, and nothing that only workflows need, before it is used", () => {
    const eager = loadedWith("index.ts");
    expect(eager).toContain("runner/runner.ts");
    expect(eager).not.toContain("workflow/run-steps.ts");
    const packages = sources
      .filter(({ path }) => eager.has(path))
      .flatMap(({ imports }) => imports.filter((one) => one.isPackage && !one.isLazy && !one.isType))
      .map((one) => one.target);
    const heavy = ["@marcbachmann/cel-js", "json-p3", "yaml", "prom-client", "pg"]; // Zod checks arguments
    expect(packages.filter((name) => heavy.includes(name))).toEqual([]);
  });

  it("a command on letters loads neither CEL nor YAML nor an export format before it is needed", () => {
    const heavy = ["@marcbachmann/cel-js", "yaml", "zod", "@hpcc-js/wasm-zstd", "csv-parse"];
    for (const command of ["list", "analyze", "retry", "edit", "change", "files"]) {
      const loaded = loadedWith(`cli/commands/dlq-${command}.ts`);
      expect(loaded.size).toBeGreaterThan(5);
      const found = sources
        .filter(({ path }) => loaded.has(path))
        .flatMap(({ path, imports }) =>
          imports
            .filter((one) => one.isPackage && !one.isLazy && !one.isType)
            .filter((one) => heavy.some((name) => one.target === name || one.target.startsWith(`${name}/`)))
            .map((one) => `${path} imports ${one.target}`),
        );
      expect(found, command).toEqual([]);
    }
  });
});
