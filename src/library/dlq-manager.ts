/** The dead letter queue of one job for library callers, with argument checks. */
import type { FailureReport } from "../dead-letter/extend-letter.ts";
import type { Engine } from "../engine.ts";
import type { NewItem } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Letter } from "../item/letter.ts";
import type { Operation } from "../item/operation.ts";
import {
  type DlqManagerOptions,
  findOrMakeJob,
  type ListRequest,
  type ReprocessRequest,
  DlqManager as UncheckedManager,
} from "../run/dlq-manager.ts";
import { checkInput } from "./check-input.ts";
import { checkedHandler } from "./checked-handler.ts";
import { name, store } from "./common-schemas.ts";
import { checkNewItems } from "./item-check.ts";
import {
  date,
  dlqManagerOptions,
  exportOptions,
  failureReport,
  listRequest,
  reprocessRequest,
} from "./letter-schemas.ts";

/** The dead letter queue of one job. */
export class DlqManager extends UncheckedManager {
  /** Finds or creates the job. The caller closes the engine. */
  static override async open(engine: Engine, options: DlqManagerOptions): Promise<DlqManager> {
    checkInput(store, engine, { caller: "DlqManager.open", name: "engine" });
    checkInput(dlqManagerOptions, options, { caller: "DlqManager.open", name: "options" });
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
    const [fitting = item] = checkNewItems([item], "addFailedItem");
    checkInput(failureReport, failure, { caller: "addFailedItem", name: "failure" });
    return super.addFailedItem(fitting, failure);
  }

  override items(request: ListRequest = {}): AsyncIterable<Letter> {
    checkInput(listRequest, request, { caller: "listItems", name: "request" });
    return super.items(request);
  }

  override async getItem(itemId: string): Promise<Letter | null> {
    checkInput(name, itemId, { caller: "getItem", name: "itemId" });
    return super.getItem(itemId);
  }

  override async reprocessItems(request: ReprocessRequest = {}): Promise<Operation> {
    checkInput(reprocessRequest, request, { caller: "reprocessItems", name: "request" });
    return super.reprocessItems(request);
  }

  override async purgeOldItems(olderThan: Date): Promise<number> {
    checkInput(date, olderThan, { caller: "purgeOldItems", name: "olderThan" });
    return super.purgeOldItems(olderThan);
  }

  override async exportItems(
    path: string,
    options: Parameters<UncheckedManager["exportItems"]>[1] = {},
  ): Promise<number> {
    checkInput(exportOptions, { path, ...options }, { caller: "exportItems", name: "options" });
    return super.exportItems(path, options);
  }
}
