/**
 * Builds a next version of Redrive from these sources, with one more migration per engine. The migration takes a moment, so
 * that it can be killed while it runs. Used to test rolling upgrades.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const NEEDED = [
  "src",
  "scripts",
  "schema",
  "launcher",
  "package.json",
  "tsconfig.json",
  "tsconfig.build.json",
];

const MIGRATION = {
  sqlite: `CREATE TABLE next_version (n INTEGER PRIMARY KEY) STRICT;
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 60000)
    INSERT INTO next_version SELECT n FROM numbers;`,
  postgres: `CREATE TABLE next_version (n bigint PRIMARY KEY);
    INSERT INTO next_version SELECT generate_series(1, 60000);`,
};

/** Builds into the folder; returns the paths of the command line and the library. */
export function buildNextVersion(folder) {
  mkdirSync(folder, { recursive: true });
  for (const name of NEEDED)
    cpSync(join(ROOT, name), join(folder, name), { recursive: true, preserveTimestamps: true });
  cpSync(join(ROOT, "dist/launcher"), join(folder, "dist/launcher"), {
    recursive: true,
    preserveTimestamps: true,
  });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const [engine, sql] of Object.entries(MIGRATION))
    addMigration(join(folder, "src/engines", engine, "schema.ts"), sql);
  const script = join(folder, "scripts/build.mjs");
  writeFileSync(script, readFileSync(script, "utf8").replace(/^execFileSync\(.*tsc.*$/m, "")); // types are not needed
  execFileSync(process.execPath, ["scripts/build.mjs"], { cwd: folder, stdio: "pipe" });
  return { cli: join(folder, "dist/cli/main.cjs"), library: join(folder, "dist/engine.js") };
}

function addMigration(path, sql) {
  const declared = "export const MIGRATIONS: readonly string[] = [";
  const text = readFileSync(path, "utf8");
  if (!text.includes(declared)) throw new Error(`there are no migrations in ${path}`);
  const next = `\nexport const MIGRATIONS: readonly string[] = [...OWN_MIGRATIONS, ${JSON.stringify(sql)}];\n`;
  writeFileSync(path, text.replace(declared, "const OWN_MIGRATIONS: readonly string[] = [") + next);
}
