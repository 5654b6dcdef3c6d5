/** The dead letter queue of one job, with argument checks. */
import type { FailureReport } from "../../dead-letter/reported-letter.ts";
import type { Engine } from "../../engine.ts";
import type { NewItem } from "../../item/item.ts";
import type { Job } from "../../item/job.ts";
import type { Letter } from "../../item/letter.ts";
import {
  type DlqManagerOptions,
  findOrMakeJob,
  type ListRequest,
  DlqManager as UncheckedManager,
} from "../../run/dlq-manager.ts";
import { checkInput, name } from "../../std/check-input.ts";
import { checkArguments, checkMethods } from "./checked.ts";
import { checkedHandler } from "./checked-handler.ts";
import { checkNewItems } from "./item-check.ts";
import {
  date,
  dlqManagerOptions,
  exportOptions,
  failureReport,
  listRequest,
  reprocessRequest,
} from "./letter-schemas.ts";
import * as s from "./schemas.ts";

/** The dead letter queue of one job. */
export class DlqManager extends UncheckedManager {
  /** Finds or creates the job. The caller closes the engine. */
  static override async open(engine: Engine, options: DlqManagerOptions): Promise<DlqManager> {
    checkArguments([engine, options], "DlqManager.open", { engine: s.engine, options: dlqManagerOptions });
    const { handler } = options;
    return new DlqManager(engine, await findOrMakeJob(engine, options.job), {
      ...options,
      ...(handler && { handler: checkedHandler(handler) }),
    });
  }

  protected constructor(engine: Engine, job: Job, options: DlqManagerOptions) {
    super(engine, job, options);
  }

  override async addFailedItem(item: NewItem, failure: FailureReport): Promise<Letter> {
    const [valid = item] = checkNewItems([item], "addFailedItem");
    checkInput(failureReport, failure, { caller: "addFailedItem", name: "failure" });
    return super.addFailedItem(valid, failure);
  }

  override async listItems(request: ListRequest = {}): Promise<readonly Letter[]> {
    checkInput(listRequest, request, { caller: "listItems", name: "request" });
    return super.listItems(request);
  }

  override items(request: ListRequest = {}): AsyncIterable<Letter> {
    checkInput(listRequest, request, { caller: "listItems", name: "request" });
    return super.items(request);
  }

  override async exportItems(
    path: string,
    options: Parameters<UncheckedManager["exportItems"]>[1] = {},
  ): Promise<number> {
    checkInput(exportOptions, { path, ...options }, { caller: "exportItems", name: "options" });
    return super.exportItems(path, options);
  }
}

checkMethods(DlqManager, "", {
  getItem: { itemId: name },
  reprocessItems: { request: reprocessRequest.optional() },
  purgeOldItems: { olderThan: date },
});
