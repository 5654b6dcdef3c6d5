/** `redrive errors`: the error log of all queues. */
import { type Command, Option } from "commander";
import { ERROR_ORIGINS } from "../item/error-entry.ts";
import type { Terminal } from "./context.ts";
import { call, limit, list, type Report } from "./definition.ts";

/** How the log is printed. */
export const ERROR_FORMATS = ["table", "json", "error-body"] as const;

export function addErrors(program: Command, terminal: Terminal, report: Report): void {
  program
    .command("errors")
    .description("the error log: every failure of every queue, and the runner's own errors, newest first")
    .addOption(list("--queue <queues>", "of these queues or jobs (default: all)"))
    .option("--item <item>", "of this item: its id, or the beginning of it")
    .addOption(
      new Option("--origin <origin>", "whose errors: of the work, or of the runner itself").choices(
        ERROR_ORIGINS,
      ),
    )
    .option("--since <duration>", "only the latest, e.g. 10m")
    .addOption(limit("how many"))
    .option("--cursor <cursor>", "the page after this one")
    .option("--follow", "oldest first, and on as they happen; with JSON one object a line")
    .addOption(
      new Option(
        "--format <format>",
        "a table, JSON as --json, or error-body: the JSON of Power Automate's error queues",
      )
        .choices(ERROR_FORMATS)
        .default("table", "table"),
    )
    .action(call(terminal, report, async () => (await import("./commands/errors.ts")).errors));
}
