/** Routes that control a running map or workflow, and its items. */
import * as z from "zod";
import { job } from "./documents.ts";
import { itemId, name, pauseReason } from "./filter.ts";
import type { Routes } from "./route.ts";

const tag = "jobs";
const params = z.strictObject({ job: name });
const address = params.extend({ item_id: itemId });
const asked = z.looseObject({
  job_id: z.string(),
  item_id: z.string(),
  state: z.string().meta({ description: "the state at the time of the request" }),
});
const errors = ["job_not_found", "usage"] as const;
const change = { tag, role: "operator", params, response: job, errors, isRepeatable: true } as const;
const itemChange = {
  ...change,
  params: address,
  response: asked,
  errors: [...errors, "item_not_found", "illegal_move"],
} as const;

export const jobControlRoutes = {
  "POST /jobs/{job}/stop": {
    id: "stopJob",
    summary: "Ask the process that runs a job to stop it. Running attempts are ended and do not count.",
    description: "The request is stored, and the process stops within a second. The job can be resumed.",
    ...change,
    status: 202,
    errors: [...errors, "illegal_move"],
  },
  "POST /jobs/{job}/pause": {
    id: "pauseJob",
    summary: "Pause a job: nothing more is started, and running items finish.",
    ...change,
    body: pauseReason,
  },
  "POST /jobs/{job}/continue": {
    id: "continueJob",
    summary: "Continue a paused job.",
    ...change,
  },
  "POST /jobs/{job}/items/{item_id}/stop": {
    id: "stopItem",
    summary: "Stop one item: its running attempt is ended, does not count, and the item is held.",
    ...itemChange,
    status: 202,
  },
  "POST /jobs/{job}/items/{item_id}/skip": {
    id: "skipItem",
    summary: "Skip one item: its running attempt is ended, and it does not run again.",
    ...itemChange,
    status: 202,
  },
  "POST /jobs/{job}/items/{item_id}/continue": {
    id: "continueItem",
    summary: "Let a held item of a job run again.",
    ...itemChange,
  },
} as const satisfies Routes;
