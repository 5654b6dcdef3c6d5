/** Routes with statistics on letters: how many died when, and what the letters of a group have in common. */
import * as z from "zod";
import { count, data } from "./documents.ts";
import { duration, name } from "./filter.ts";
import type { Routes } from "./route.ts";

const tag = "trends";

export const trendRoutes = {
  "GET /arrivals": {
    id: "countArrivals",
    tag,
    summary: "Count letters by the time of their last failure, in equal intervals up to now.",
    role: "viewer",
    isShared: true,
    query: z.strictObject({
      job: name.optional(),
      queue: name.optional(),
      group: name.optional().meta({ description: "the signature of a group" }),
      bucket: duration
        .optional()
        .meta({ description: "the length of an interval in whole minutes; default: 1h" }),
      newer_than: duration.optional().meta({ description: "how far back; default: 24h" }),
    }),
    response: z.looseObject({ since: z.string(), bucket_ms: count, counts: z.array(count) }),
    errors: ["job_not_found", "usage"],
  },
  "GET /groups/{group}/fields": {
    id: "listGroupFields",
    tag,
    summary: "List the most frequent values of each field of the letters' data in a group.",
    description: "The newest 500 waiting letters are read. Fields whose values all differ are left out.",
    role: "viewer",
    params: z.strictObject({ group: name }),
    response: z.looseObject({
      read: count,
      fields: z.array(
        z.looseObject({ path: z.string(), values: z.array(z.looseObject({ value: data, count })) }),
      ),
    }),
    errors: ["group_not_found", "ambiguous"],
  },
} as const satisfies Routes;
