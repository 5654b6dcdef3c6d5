/** `redrive groups …`: the same failure is one group; what is known of it, and what people decide about it. */
import type { Command } from "commander";
import type { Terminal } from "./context.ts";
import { call, limit, list, ofJob, type Report } from "./definition.ts";

export function addGroups(groups: Command, terminal: Terminal, report: Report): void {
  addLooking(groups, terminal, report);
  addCorrecting(groups, terminal, report);
  addDeciding(groups, terminal, report);
}

const GROUP = "a signature, the beginning of one, or the name that a rule or a split gave it";

function addLooking(groups: Command, terminal: Terminal, report: Report): void {
  ofJob(groups.command("list", { isDefault: true }), "of this job (default: all jobs)")
    .description("lists the groups of letters that wait, largest first")
    .addOption(list("--state <states>", "open, resolved, ignored, all (default: open)"))
    .addOption(limit("how many"))
    .action(call(terminal, report, async () => (await import("./commands/groups-list.ts")).groupsList));
  groups
    .command("show")
    .description("shows a group: how many, since when, where, samples, notes, what helped before")
    .argument("<group>", GROUP)
    .action(call(terminal, report, async () => (await import("./commands/groups-show.ts")).groupsShow));
  ofJob(groups.command("explain"), "the job that the item belongs to")
    .description(
      "shows why failures are in a group: the line that was picked, the masks, the frames, and what is near",
    )
    .argument("<group-or-item>", "a group (signature, beginning, name), or the id of an item")
    .action(call(terminal, report, async () => (await import("./commands/groups-explain.ts")).groupsExplain));
  groups
    .command("preview")
    .description("prints the signature and pattern of each line of a file; nothing is stored")
    .argument("<file>", "JSON Lines with `text`, or plain lines; - is stdin")
    .action(call(terminal, report, async () => (await import("./commands/groups-preview.ts")).groupsPreview));
}

function addCorrecting(groups: Command, terminal: Terminal, report: Report): void {
  groups
    .command("merge")
    .description("makes groups one, also for later failures")
    .argument("<groups...>", "the groups that go into the other")
    .requiredOption("--into <group>", "the group that stays")
    .option("-y, --yes", "do not ask")
    .action(call(terminal, report, async () => (await import("./commands/groups-merge.ts")).groupsMerge));
  groups
    .command("split")
    .description(
      "makes those failures of a group that have a text in their message a group of their own, also later ones",
    )
    .argument("<group>", GROUP)
    .requiredOption("--text <text>", "what their message has, in any case")
    .option("--name <name>", "what the new group is called (default: the pattern and the text)")
    .option("-y, --yes", "do not ask")
    .action(call(terminal, report, async () => (await import("./commands/groups-split.ts")).groupsSplit));
  groups
    .command("corrections")
    .description("lists merges and splits, or takes one back")
    .option("--remove <n>", "take back the one with this number; `groups rebuild` then regroups its letters")
    .action(
      call(
        terminal,
        report,
        async () => (await import("./commands/groups-corrections.ts")).groupsCorrections,
      ),
    );
  ofJob(groups.command("rebuild"), "only of this job")
    .description(
      "groups all letters anew, with the newest algorithm, the rules of redrive.yml and the corrections",
    )
    .option("--dry-run", "only say what would change")
    .option("-y, --yes", "do not ask")
    .action(call(terminal, report, async () => (await import("./commands/groups-rebuild.ts")).groupsRebuild));
}

function addDeciding(groups: Command, terminal: Terminal, report: Report): void {
  groups
    .command("resolve")
    .description("says that the cause is gone; a new failure opens the group again, as a regression")
    .argument("<groups...>", "which groups: signatures, beginnings of them, or names")
    .option("--note <text>", "what helped")
    .action(call(terminal, report, async () => (await import("./commands/groups-decide.ts")).groupsResolve));
  groups
    .command("ignore")
    .description("leaves a group out of lists, until a time, a count or a rate")
    .argument("<groups...>", "which groups: signatures, beginnings of them, or names")
    .option("--until <when>", "a time (2026-12-24T08:00Z) or a duration from now (2d)")
    .option("--count <n>", "until so many new letters have died of it")
    .option("--rate <n/h>", "until more than so many new letters within an hour")
    .option("--note <text>", "why")
    .action(call(terminal, report, async () => (await import("./commands/groups-decide.ts")).groupsIgnore));
  groups
    .command("open")
    .description("opens a group that was resolved or ignored")
    .argument("<groups...>", "which groups: signatures, beginnings of them, or names")
    .option("--note <text>", "why")
    .action(call(terminal, report, async () => (await import("./commands/groups-decide.ts")).groupsOpen));
  groups
    .command("note")
    .description("writes a note on a group, with your name and the time")
    .argument("<group>", GROUP)
    .argument("<text>", "the note")
    .action(call(terminal, report, async () => (await import("./commands/groups-decide.ts")).groupsNote));
}
