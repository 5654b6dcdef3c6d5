/** `redrive jobs dismiss`: jobs that nobody wants to resume. */
import { dismissJob } from "../../job/dismiss-job.ts";
import { requireJob } from "../../job/find-job.ts";
import { authorOf } from "../author.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";

export async function jobsDismiss(context: Context, names: readonly string[]): Promise<number> {
  const author = authorOf(context.terminal.env);
  const dismissed = await context.withStore(async (engine) => {
    const found = [];
    for (const name of names) found.push(await requireJob(engine, name));
    for (const job of found) await dismissJob(engine, job, author);
    return found.map(({ id }) => id);
  });
  context.answer({ dismissed }, () =>
    dismissed.map((id) => `Dismissed ${id}. \`redrive resume ${id}\` still resumes it.\n`).join(""),
  );
  return EXIT.done;
}
