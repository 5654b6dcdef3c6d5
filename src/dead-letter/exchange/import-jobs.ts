/** The jobs that imported letters go to. One that the store does not have is made, and has ended from the start. */
import type { Engine, ImportReport } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import type { Job } from "../../item/job.ts";

/** A job, whether it was made for its letters, and what became of them. */
export interface ImportedJob extends ImportReport {
  readonly jobId: string;
  readonly isNew: boolean;
}

export class ImportJobs {
  readonly #engine: Engine;
  readonly #source: string;
  readonly #isDry: boolean;
  readonly #jobs = new Map<string, ImportedJob>();

  constructor(engine: Engine, { source, isDry }: { readonly source: string; readonly isDry: boolean }) {
    this.#engine = engine;
    this.#source = source;
    this.#isDry = isDry;
  }

  /** Those that letters went to, in the order in which they were met. */
  get all(): readonly ImportedJob[] {
    return [...new Map([...this.#jobs.values()].map((job) => [job.jobId, job])).values()];
  }

  /** The job of that id or name, which is there afterwards. */
  async open(name: string): Promise<ImportedJob> {
    const known = this.#jobs.get(name);
    if (known !== undefined) return known;
    const found = await this.#engine.findJob(name);
    if (found !== null) await this.#end(found);
    else if (!this.#isDry) await this.#make(name);
    const opened = { jobId: found?.id ?? name, isNew: found === null, imported: 0, extended: 0, existing: 0 };
    this.#jobs.set(name, opened);
    return opened;
  }

  count(name: string, report: ImportReport): void {
    const job = this.#jobs.get(name);
    if (job === undefined) return;
    this.#jobs.set(name, {
      ...job,
      imported: job.imported + report.imported,
      extended: job.extended + report.extended,
      existing: job.existing + report.existing,
    });
  }

  async #make(id: string): Promise<void> {
    const spec = { source: this.#source };
    try {
      await this.#end(await this.#engine.createJob({ id, name: id, kind: "imported", spec }));
    } catch (error) {
      // Another import may have made it in this moment.
      if (!(error instanceof WorkError) || error.code !== "job_changed") throw error;
    }
  }

  /** It has nothing to run. A crash may have left it running, just made. */
  async #end({ id, kind, status }: Job): Promise<void> {
    if (kind !== "imported" || status !== "running" || this.#isDry) return;
    await this.#engine.changeJob(id, {
      status: "completed",
      intakeComplete: true,
      event: { type: "job_completed", data: { source: this.#source } },
    });
  }
}
