/** `redrive audit`: lists who changed what. */
import { requireJob } from "../../queue/find-job.ts";
import { compact } from "../../std/json.ts";
import { command } from "../command.ts";
import { count, limit, word } from "../options.ts";
import { nextPageText, table } from "../render/layout.ts";

interface Entry {
  readonly at: string;
  readonly author: string;
  readonly via: string;
  readonly action: string;
  readonly queue: string | null;
  readonly item_id: string | null;
}

const audit = command({
  summary: "List who changed what and through which interface, newest first.",
  examples: ["redrive audit", "redrive audit --author olga --queue orders --json"],
  options: {
    author: word("--author <name>", "only changes made by this person or token"),
    queue: word("--queue <queue>", "only changes to this queue or job"),
    limit,
    before: count(
      "--cursor <cursor>",
      "continue after this cursor: the `next` value of the previous page",
      1,
    ),
  },
  run: async (context, { queue, ...query }) => {
    const { listAudit } = await import("../../server/audit.ts");
    const document = await context.withStore(async (engine) => {
      const id = queue === undefined ? undefined : (await requireJob(engine, queue)).id;
      return listAudit(engine, { ...query, ...compact({ queue: id }) });
    });
    return context.answer(document, () => {
      const entries = document.entries as unknown as readonly Entry[];
      if (entries.length === 0) return "No changes.\n";
      const rows = table(
        entries,
        [
          { title: "TIME", value: ({ at }) => at.slice(0, 19).replace("T", " ") },
          { title: "AUTHOR", value: ({ author }) => author, cutTo: 12 },
          { title: "VIA", value: ({ via }) => via },
          { title: "ACTION", value: ({ action }) => action },
          { title: "QUEUE", value: ({ queue: of }) => of ?? "", cutTo: 12, giveUp: 2 },
          { title: "ITEM", value: ({ item_id: item }) => item ?? "", cutTo: 12, giveUp: 1 },
        ],
        context.columns,
      );
      return rows + nextPageText(context, document.next as string | null);
    });
  },
});

export const commands = { audit };
