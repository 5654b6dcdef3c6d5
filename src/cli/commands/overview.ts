/** `redrive overview`: shows what needs attention now, across all queues and jobs. */
import { operationToJson } from "../../item/operation.ts";
import { groupToJson, listGroups } from "../../redrive/groups.ts";
import { listStarted } from "../../redrive/operation.ts";
import { metricsToJson, readMetrics } from "../../service/metrics.ts";
import { command } from "../command.ts";
import { overviewText } from "../render/overview.ts";

const overview = command({
  summary: "Show what needs attention: dead letters, the largest groups, queues, running jobs.",
  examples: ["redrive overview", "redrive overview --json"],
  run: async (context) => {
    const found = await context.withStore(async (engine) => ({
      metrics: await readMetrics(engine),
      groups: (await listGroups(engine, { states: ["open"] })).groups,
      operations: await listStarted(engine, { open: true }),
    }));
    const document = {
      ...metricsToJson(found.metrics),
      groups: found.groups.map((group) => groupToJson(group, [])),
      operations: found.operations.map(operationToJson),
    };
    return context.answer(document, () => overviewText(found, context));
  },
});

export const commands = { overview };
