/** `redrive ops list`: operations on letters and how they stand. */
import { leftOf, type Operation, operationToJson } from "../../item/operation.ts";
import { requireJob } from "../../job/find-job.ts";
import { toRfc3339 } from "../../kit/clock.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { statusTint } from "../operation-text.ts";
import { table } from "../table.ts";

interface ListFlags {
  readonly job?: string;
  readonly open?: boolean;
}

export async function opsList(context: Context, flags: ListFlags): Promise<number> {
  const operations = await context.withStore(async (engine) => {
    const queue = flags.job === undefined ? {} : { queue: (await requireJob(engine, flags.job)).id };
    return (await engine.listOperations({ ...queue, ...(flags.open && { open: true }) })).toReversed();
  });
  context.answer({ operations: operations.map(operationToJson) }, () => listText(context, operations, flags));
  return EXIT.done;
}

function listText({ paint, columns }: Context, operations: readonly Operation[], flags: ListFlags): string {
  if (operations.length === 0) return flags.open ? "No operation is open.\n" : "No operations yet.\n";
  const number = (title: string, value: (operation: Operation) => number) =>
    ({ title, value: (operation: Operation) => String(value(operation)), align: "right" }) as const;
  return table(
    operations,
    [
      { title: "OPERATION", value: ({ id }) => id },
      { title: "KIND", value: ({ kind }) => kind },
      {
        title: "STATUS",
        value: ({ status }) => status,
        paint: (cell, { status }) => statusTint(paint, status)(cell),
      },
      number("LETTERS", ({ selected }) => selected),
      {
        ...number("DONE", ({ kind, done, succeeded }) => (kind === "redrive" ? succeeded : done)),
        giveUp: 2,
      },
      { ...number("FAILED", ({ failed }) => failed), giveUp: 3 },
      { ...number("REFUSED", ({ refused }) => refused), giveUp: 4 },
      { ...number("LEFT", leftOf), giveUp: 1 },
      {
        title: "BEGUN",
        value: ({ createdAt }) => toRfc3339(createdAt).slice(0, 19).replace("T", " "),
        giveUp: 5,
      },
      { title: "JOB", value: ({ queue }) => queue, cutTo: 12, giveUp: 6 },
      { title: "BY", value: ({ author }) => author, giveUp: 7 },
    ],
    columns,
  );
}
