/** `redrive mcp`: lets an AI agent read and triage the store over stdio. */
import { command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { flag } from "../options.ts";
import { untilInterrupted } from "../signals.ts";

const mcp = command({
  summary: "Serve the store to an AI agent over stdio (Model Context Protocol).",
  description:
    "The agent can read groups, letters and logs. Tools that change letters are absent unless you give --allow-changes.",
  examples: ["redrive mcp", "redrive mcp --allow-changes --store postgres://me@host/work"],
  options: {
    allowsChanges: flag(
      "--allow-changes",
      "let the agent retry, edit, discard and restore letters, and write notes",
    ),
    allowsRuns: flag(
      "--allow-runs",
      "run the commands of maps and workflows on this machine when their letters are retried",
    ),
  },
  run: async (context, { allowsChanges, allowsRuns }) => {
    const { serveStdio } = await import("../../server/mcp/stdio.ts");
    const { stdin, stdout, version } = context.terminal;
    return context.withStore(
      (engine) =>
        untilInterrupted(async ({ signal }) => {
          await serveStdio({
            ...{ engine, stdin, stdout, version, signal, allowsChanges, allowsRuns },
            home: context.home,
            name: context.author,
            config: () => context.config(),
            log: ({ event, ...fields }) => context.note(JSON.stringify({ event, ...fields })),
          });
          return EXIT.done;
        }),
      { isAuthor: false },
    );
  },
});

export const commands = { mcp };
