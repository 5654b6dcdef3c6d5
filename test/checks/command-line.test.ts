/** The command line as its reader meets it: every option is in the documents, every error code has an exit code. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EXIT_CODE } from "../../src/cli/exit-code.ts";
import { ERROR_CODES } from "../../src/errors.ts";
import { everyHelp, say } from "./help.ts";
import { ROOT, readSources } from "./sources.ts";

const docs = [
  join(ROOT, "README.md"),
  ...readdirSync(join(ROOT, "docs")).map((name) => join(ROOT, "docs", name)),
]
  .filter((path) => path.endsWith(".md"))
  .map((path) => readFileSync(path, "utf8"))
  .join("\n");

describe("the command line", () => {
  it("every command and every option is in the documents", async () => {
    const helps = await everyHelp();
    expect(helps.map((help) => help.command)).toContain("dlq retry");
    const missing = helps.flatMap(({ command, flags }) => [
      ...(docs.includes(`redrive ${command}`) ? [] : [`redrive ${command}`]),
      ...flags
        .filter((flag) => !new RegExp(`${flag}(?![a-z-])`).test(docs))
        .map((flag) => `${command} ${flag}`),
    ]);
    expect(missing).toEqual([]);
  });

  it("every option of map has its own row in the page about map", async () => {
    const page = readFileSync(join(ROOT, "docs/02-map.md"), "utf8");
    const map = (await everyHelp()).find((help) => help.command === "map");
    const missing = map?.flags.filter(
      (flag) => flag !== "--help" && !new RegExp(`^\\|.*\`${flag}[ \`]`, "m").test(page),
    );
    expect(missing).toEqual([]);
  });

  it("no help line says undefined or shows a default in quotes", async () => {
    const wrong = (await everyHelp()).filter(({ text }) => /undefined|default:\s+"/.test(text));
    expect(wrong.map((help) => help.command)).toEqual([]);
  });

  it("every error code has an exit code that the page about commands explains", () => {
    const page = readFileSync(join(ROOT, "docs/20-commands.md"), "utf8");
    expect(Object.keys(EXIT_CODE).sort()).toEqual([...ERROR_CODES].sort());
    const unexplained = [...new Set(Object.values(EXIT_CODE))].filter(
      (code) => !new RegExp(`^\\| (\\d+, )*${code}(, \\d+)* \\|`, "m").test(page),
    );
    expect(unexplained).toEqual([]);
  });

  it("every environment variable in the code is in the documents", () => {
    const named = readSources().flatMap(({ text }) => text.match(/\bREDRIVE_[A-Z_]+\b/g) ?? []);
    const inside = ["REDRIVE_VERSION", "REDRIVE_BUILD_ID", "REDRIVE_NEW_STORE"]; // put in by the build
    const missing = [...new Set(named)].filter((name) => !inside.includes(name) && !docs.includes(name));
    expect(missing).toEqual([]);
  });

  it.each([[[]], [["dlq"]], [["store"]]])(
    "%j without a command prints help and nothing else",
    async (argv) => {
      const { code, stdout, stderr } = await say(...argv);
      expect(code).toBe(2);
      expect(stdout).toBe("");
      expect(stderr).toMatch(/^Usage: redrive/);
      expect(stderr).not.toContain("outputHelp");
    },
  );

  it("a list option does not consume the job that follows it", async () => {
    const { stderr } = await say("dlq", "list", "--type", "Timeout", "--class", "outage", "nightly");
    expect(stderr).toContain("There is no job nightly.");
  });

  it("a list option can be repeated, and takes commas", async () => {
    const { stderr } = await say("dlq", "list", "--type", "Timeout,CommandFailed", "--type", "Nonsense");
    expect(stderr).toContain("Nonsense");
  });

  it("a usage error shows the command's usage", async () => {
    const { code, stderr } = await say("queue", "show");
    expect(code).toBe(2);
    expect(stderr).toContain("Usage: redrive queue show [options] <queue> [item]");
  });

  it("the error of an option before its command says where options belong", async () => {
    const { code, stderr } = await say("--quiet", "map", "--", "true");
    expect(code).toBe(2);
    expect(stderr).toContain("Options come after their command");
  });
});
