/** Records changes without a separate event type, so that they appear in the audit log. */
import type { RecordedChange } from "../../item/store-queries.ts";
import { compact } from "../../std/json.ts";
import type { Db, Step } from "./db.ts";
import { writeEvent } from "./events.ts";
import { queueNo } from "./jobs.ts";

export function* recordChange(db: Db, { author = "redrive", queue, ...data }: RecordedChange): Step<void> {
  const subject = queue === undefined ? {} : { queue: yield* queueNo(db, queue) };
  yield* writeEvent(db, { type: "change_recorded", data: compact({ author, ...data }) }, subject);
}
