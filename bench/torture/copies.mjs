/**
 * Kills `store copy` and runs it again: from SQLite to another file, and through a PostgreSQL server and back if one is
 * given. At the end the copies have the same letters and items, and `store copy` has verified that they are equal.
 */
import { join } from "node:path";
import { openStore } from "../../dist/engine.js";
import { chanceOf } from "./chance.mjs";
import { KilledCommands } from "./killed-command.mjs";
import { writeItems, writeLetters } from "./letters-file.mjs";

/** `kills` per copy; `postgresUrl`: a server to copy through. Returns `{ violations, figures, faults, home }`. */
export async function tortureCopies({ seed, letters: count = 1200, kills = 10, postgresUrl }) {
  const chance = chanceOf(seed);
  const world = new KilledCommands(chance, "copies");
  const file = (name) => `sqlite:${join(world.home, name)}`;
  await fill(world, chance, file("source.db"), count);
  const over = postgresUrl === undefined ? file("middle.db") : `${postgresUrl}?schema=copy_${seed}`;
  const way = [file("source.db"), over, file("target.db")];
  for (const [index, to] of way.slice(1).entries())
    await world.killThenRun("store copy", ["store", "copy", way[index], to], { kills });
  const contents = await Promise.all([way[0], way[2]].map(contentOf));
  if (contents[0].text !== contents[1].text) world.violations.push("the last copy differs from the source");
  world.violations.push(...contents.flatMap(({ problems }) => problems));
  return world.report({ items: 2 * count, attempts: contents[0].attempts });
}

async function fill(world, chance, store, count) {
  writeLetters(join(world.home, "in.jsonl"), chance, count);
  writeItems(join(world.home, "items.jsonl"), count);
  for (const words of [
    ["dlq", "import", "in.jsonl", "--job", "letters"],
    ["queue", "create", "items"],
    ["queue", "import", "items", "items.jsonl", "--envelope"],
  ]) {
    const { code, stderr } = await world.run([...words, "--store", store]);
    if (code !== 0) world.violations.push(`${words.join(" ")} ended with ${code}: ${stderr}`);
  }
}

/** All visible contents of letters and items, as one text. */
async function contentOf(url) {
  const engine = await openStore(url);
  try {
    const { letters } = await engine.listLetters({ limit: 1_000_000 });
    const items = await engine.findItems("", { queue: "items", limit: 1_000_000 });
    const seen = [
      letters.map(({ itemId, itemData, failureHistory }) => ({ itemId, itemData, failureHistory })),
      items.map(({ itemId, data, state }) => ({ itemId, data, state })),
    ];
    const problems = (await engine.check()).map(
      ({ rule, detail }) => `store check of ${url}: ${rule}: ${detail}`,
    );
    return { text: JSON.stringify(seen), problems, attempts: 0 };
  } finally {
    await engine.close();
  }
}
