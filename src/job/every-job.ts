/** Every job of a store, newest first, a page at a time. */
import type { Engine } from "../engine.ts";
import type { Job } from "../item/job.ts";

const PAGE_JOBS = 200;

/** Each job once. Pages begin at a time, and several jobs may be of the same one. */
export async function* everyJob(engine: Engine): AsyncGenerator<Job> {
  const seen = new Set<string>();
  let limit = PAGE_JOBS;
  let before: { readonly before?: number } = {};
  for (;;) {
    const page = await engine.listJobs({ limit, ...before });
    const fresh = page.filter(({ id }) => !seen.has(id));
    yield* fresh;
    if (page.length < limit) return;
    if (fresh.length === 0) limit *= 2; // more of one time than fit on a page
    for (const { id } of fresh) seen.add(id);
    before = { before: Math.min(...page.map(({ createdAt }) => createdAt)) + 1 };
  }
}
