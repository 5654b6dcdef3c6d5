/** `redrive jobs …`: the list of jobs, and what people do with jobs that they do not need any more. */
import type { Command } from "commander";
import type { Terminal } from "./context.ts";
import { call, limit, type Report } from "./definition.ts";

export function addJobs(jobs: Command, terminal: Terminal, report: Report): void {
  jobs
    .command("list", { isDefault: true })
    .description("lists jobs, newest first, with their command and folder")
    .addOption(limit("how many"))
    .action(call(terminal, report, async () => (await import("./commands/jobs.ts")).jobs));
  jobs
    .command("dismiss")
    .description("marks jobs that you do not want to resume: `redrive resume` passes over them")
    .argument("<jobs...>", "ids or names")
    .action(call(terminal, report, async () => (await import("./commands/jobs-dismiss.ts")).jobsDismiss));
  jobs
    .command("delete")
    .description("deletes jobs with their items, logs and worktrees; letters are archived first")
    .argument("<jobs...>", "ids or names")
    .option("--force", "also jobs with letters that wait, or with worktrees whose work is not merged")
    .option("--dry-run", "only print what would be deleted")
    .option("-y, --yes", "do not ask")
    .action(call(terminal, report, async () => (await import("./commands/jobs-delete.ts")).jobsDelete));
}
