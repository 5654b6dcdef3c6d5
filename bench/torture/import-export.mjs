/**
 * Kills imports and exports and runs them again. At the end every letter and item exists once, as in the file. After each
 * kill an exported file is complete or does not exist.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../dist/engine.js";
import { chanceOf } from "./chance.mjs";
import { KilledCommands } from "./killed-command.mjs";
import { writeItems, writeLetters } from "./letters-file.mjs";

const FORMATS = [
  [3, "out.jsonl"],
  [2, "out.json"],
  [2, "out.jsonl.zst"],
  [2, "out.json.gz"],
  [1, "out.csv"],
  [1, "out/"],
];

/** `kills` for each of the four commands. Returns `{ violations, figures, faults, home }`. */
export async function tortureImportExport({ seed, letters: count = 1200, kills = 8 }) {
  const chance = chanceOf(seed);
  const world = new KilledCommands(chance, "import-export");
  const [first, second] = ["first.db", "second.db"].map((name) => `sqlite:${join(world.home, name)}`);
  const letters = writeLetters(join(world.home, "in.jsonl"), chance, count);
  const keys = writeItems(join(world.home, "items.jsonl"), count);
  const out = chance.pick(FORMATS);

  const into = (store) => ["--store", store];
  const checked = (store) => ({ kills, onKilled: () => check(store) });
  const imported = ["dlq", "import", "in.jsonl", "--job", "letters", ...into(first)];
  await world.killThenRun("dlq import", imported, checked(first));
  world.violations.push(...(await judgeLetters(first, letters, "after the import")));

  const isWhole = async () => wholeProblems(world.home, out, count);
  await world.killThenRun("dlq export", ["dlq", "export", out, ...into(first)], { kills, onKilled: isWhole });

  await world.killThenRun("dlq import", ["dlq", "import", out, ...into(second)], checked(second));
  world.violations.push(...(await judgeLetters(second, letters, `after ${out} came back`)));

  const made = await world.run(["queue", "create", "items", "--unique", "return", ...into(first)]);
  if (made.code !== 0) world.violations.push(`queue create ended with ${made.code}: ${made.stderr}`);
  const taken = ["queue", "import", "items", "items.jsonl", "--envelope", ...into(first)];
  await world.killThenRun("queue import", taken, checked(first));
  world.violations.push(...(await judgeItems(first, keys)));
  for (const store of [first, second]) world.violations.push(...(await check(store)));
  return world.report({ items: 2 * count, attempts: 0 });
}

async function withStore(url, action) {
  if (!existsSync(url.slice("sqlite:".length))) return [];
  const engine = await openStore(url);
  try {
    return await action(engine);
  } finally {
    await engine.close();
  }
}

function check(url) {
  return withStore(url, async (engine) =>
    (await engine.check()).map(({ rule, detail }) => `store check: ${rule}: ${detail}`),
  );
}

function judgeLetters(url, wanted, when) {
  return withStore(url, async (engine) => {
    const { letters } = await engine.listLetters({ limit: 1_000_000 });
    const found = new Set(letters.map(({ itemId }) => itemId));
    const problems = [...wanted.keys()]
      .filter((id) => !found.has(id))
      .map((id) => `${id} is missing ${when}`);
    if (letters.length !== wanted.size) problems.push(`${letters.length} of ${wanted.size} letters ${when}`);
    for (const { itemId, itemData, failureCount } of letters) {
      const { item_data: own, failure_count: count } = wanted.get(itemId) ?? {};
      if (JSON.stringify(itemData) !== JSON.stringify(own)) problems.push(`${itemId} has other data ${when}`);
      if (failureCount !== count)
        problems.push(`${itemId} has ${failureCount} failures, not ${count}, ${when}`);
    }
    return problems;
  });
}

function judgeItems(url, keys) {
  return withStore(url, async (engine) => {
    const items = await engine.findItems("", { queue: "items", limit: 1_000_000 });
    const found = new Set(items.map(({ itemId }) => itemId));
    const problems = keys.filter((key) => !found.has(key)).map((key) => `${key} is missing after the import`);
    if (items.length !== keys.length)
      problems.push(`${items.length} of ${keys.length} items after the import`);
    return problems;
  });
}

/** Checks text formats only; compressed files and folders are checked when they are read again. */
function wholeProblems(home, name, count) {
  const path = join(home, name);
  if (!existsSync(path) || !/\.jsonl?$/.test(name)) return [];
  const text = readFileSync(path, "utf8");
  const found = name.endsWith(".jsonl") ? text.trimEnd().split("\n").length : JSON.parse(text).items.length;
  return found === count ? [] : [`${name} is there with ${found} of ${count} letters`];
}
