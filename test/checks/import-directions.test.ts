/** Imports point one way, so that a reader who follows an item never meets a road that leads back. */
import { describe, expect, it } from "vitest";
import { placeOf, readSources } from "./sources.ts";

const GROUND = ["item", "kit", "errors.ts"];
const STAGES = ["intake", "lease", "attempt", "retry", "dead-letter", "triage", "redrive", "runner"];

/** What each part of src/ may import besides itself, and why. A new part needs a line here. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  // The ground. Durations and other readers of user text refuse with a WorkError.
  "errors.ts": [],
  kit: ["errors.ts"],
  item: ["kit"],
  "engine.ts": ["item", "kit"],
  // The stages of an item's life; none of them knows the job that puts them together.
  intake: GROUND,
  triage: GROUND,
  retry: [...GROUND, "triage"], // a failure's message is cleaned and cut as its pattern is
  attempt: [...GROUND, "retry"], // a failed attempt is classified where it is recorded
  "dead-letter": [...GROUND, "retry", "triage"], // a grave has a judgement and a signature
  lease: [...GROUND, "engine.ts", "retry", "dead-letter"], // a lost lease is decided and settled like any other
  runner: [...GROUND, "engine.ts", "lease", "attempt", "retry", "dead-letter"],
  redrive: [...GROUND, "engine.ts", "runner"], // it writes through the runner's patience
  // What puts the stages together. A worktree is a place to work in: it knows git, and no stage but how to start it.
  worktree: [...GROUND, "attempt"],
  workflow: [...GROUND, "engine.ts", ...STAGES, "worktree"],
  job: [...GROUND, "engine.ts", ...STAGES, "worktree", "workflow"],
  // The implementations know the contract and the ground, and nothing of the stages.
  engines: [...GROUND, "engine.ts"],
  // The surface names everything but the command line.
  "index.ts": [...GROUND, "engine.ts", "engines", ...STAGES, "worktree", "workflow", "job"],
  // The command line imports modules instead of index.ts, because a command loads only what it needs.
  cli: [...GROUND, "engine.ts", "engines", ...STAGES, "worktree", "workflow", "job"],
};

const sources = readSources();
const local = sources.flatMap(({ path, imports }) =>
  imports.filter((one) => !one.isPackage).map((one) => ({ path, ...one })),
);

describe("import directions", () => {
  it("the reader of sources sees the imports that are there", () => {
    expect(sources.length).toBeGreaterThan(100);
    expect(local).toContainEqual({
      path: "runner/runner.ts",
      target: "retry/decide.ts",
      isPackage: false,
      isLazy: false,
    });
    expect(local.filter((one) => one.isLazy).map((one) => one.target)).toContain("cli/commands/map.ts");
    const known = new Set(sources.map((source) => source.path));
    expect(local.filter((one) => !known.has(one.target) && one.target !== "cli/program.js")).toEqual([]);
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

  it("an engine is named by engines/open.ts alone, and loaded when it is asked for", () => {
    const engineOf = (path: string) => /^engines\/([^/]+)\//.exec(path)?.[1];
    const wrong = local
      .filter(({ path, target, isLazy }) => {
        const engine = engineOf(target);
        if (engine === undefined || engineOf(path) === engine) return false;
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
    const users = sources.filter(({ imports }) =>
      imports.some((one) => one.target.includes("sqlite") && one.isPackage),
    );
    expect(users.map((source) => source.path)).toEqual(["engines/sqlite/session.ts"]);
  });

  it("what the command line starts with loads no command and no engine", () => {
    const eager = local.filter(({ path, isLazy }) => path === "cli/program.ts" && !isLazy);
    expect(eager.filter(({ target }) => target.startsWith("cli/commands/")).map((one) => one.target)).toEqual(
      [],
    );
    expect(local.filter(({ path }) => path === "cli/main.ts").map((one) => one.target)).toEqual([
      "cli/program.js",
    ]);
  });
});
