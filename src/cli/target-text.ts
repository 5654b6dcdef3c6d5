/** Targets of receipts as people read them: a table of all, one with its settings, and what to do next. */
import { addressOf, type TargetSummary } from "../delivery/look.ts";
import type { DeliverySpec, TokenSource } from "../delivery/spec.ts";
import { backoffToText, durationToText, outageToText, rateToText } from "../queue/setting-text.ts";
import { clean, type Paint } from "./paint.ts";
import { thousands } from "./progress-rate.ts";
import { countsOf, type Fact, factLines, factsOf, statusOf, tintOf, workersText } from "./queue-text.ts";
import { type Column, table } from "./table.ts";

interface View {
  readonly paint: Paint;
  readonly columns: number;
}

export function targetsText(targets: readonly TargetSummary[], { paint, columns }: View): string {
  if (targets.length === 0) return "No targets yet. `redrive receipts target NAME --url URL` makes one.\n";
  const count = (title: string, of: (target: TargetSummary) => number): Column<TargetSummary> => ({
    title,
    value: (target) => thousands(of(target)),
    align: "right",
  });
  return table(
    targets,
    [
      { title: "TARGET", value: ({ name }) => name },
      { title: "STATUS", value: statusOf, paint: (cell, target) => tintOf(target, paint)(cell) },
      count("WAITING", ({ counts }) => counts.ready + counts.held),
      count("SENDING", ({ counts }) => counts.leased),
      count("DELIVERED", ({ counts }) => counts.done),
      {
        ...count("DEAD", ({ counts }) => counts.dead),
        paint: (cell, { counts }) => (counts.dead > 0 ? paint.red(cell) : cell),
      },
      { title: "WHERE", value: ({ delivery }) => whereOf(delivery), giveUp: 1 },
    ],
    columns,
  );
}

function whereOf({ protocol, url, tool }: DeliverySpec): string {
  if (url === undefined || protocol === "function") return "a function of the service";
  return protocol === "mcp" ? `${tool} at ${addressOf(url)}` : addressOf(url);
}

/** As the table of all targets has it. */
const RECEIPT_WORDS = { ready: "Waiting", leased: "Sending", done: "Delivered" };

export function targetText(target: TargetSummary, { paint }: View): string {
  const status = tintOf(target, paint)(statusOf(target));
  const sections = [
    `${paint.bold(clean(target.name))}  ${status}\n${factLines(factsOf(target), paint)}`,
    `${paint.bold("Receipts")}\n${factLines(countsOf(target, RECEIPT_WORDS), paint)}`,
    `${paint.bold("Settings")}\n${targetSettingsText(target, paint)}`,
    workersText(target, paint),
    nextText(target, paint),
  ];
  return sections.filter(Boolean).join("\n");
}

/** In the words of the options. */
export function targetSettingsText({ spec, delivery }: TargetSummary, paint?: Paint): string {
  const { policy, rate } = spec;
  const { protocol, url, tool, headers = {}, token, orderField, keyArgument } = delivery;
  const facts: Fact[] = [["protocol", protocol]];
  if (url !== undefined) facts.push(["url", addressOf(url)]);
  if (protocol === "mcp") facts.push(["tool", tool]);
  if (keyArgument !== undefined) facts.push(["key-argument", keyArgument]);
  for (const [name, value] of Object.entries(headers)) facts.push(["header", `${name}: ${value}`]);
  facts.push(["token", tokenText(token)], ["timeout", durationToText(delivery.timeoutMs)]);
  facts.push(["retries", String(policy.maxAttempts - 1)], ["backoff", backoffToText(policy.backoff)]);
  facts.push(["on-outage", outageToText(policy)]);
  if (policy.breaker) {
    const { failureThreshold, timeoutMs } = policy.breaker;
    facts.push(["breaker", `${failureThreshold} in a row make it wait ${durationToText(timeoutMs)}`]);
  } else facts.push(["breaker", "none"]);
  if (rate) facts.push(["rate", rateToText(rate.perSecond)]);
  if (orderField !== undefined) facts.push(["order-field", orderField]);
  if (delivery.idHeader !== "Idempotency-Key") facts.push(["id-header", delivery.idHeader]);
  return factLines(facts, paint);
}

/** Where it is, never what it is. */
function tokenText(token: TokenSource | undefined): string {
  if (token === undefined) return "none";
  return "env" in token ? `in the environment variable ${token.env}` : `in the file ${token.file}`;
}

function nextText({ name, pause, workers, counts }: TargetSummary, paint: Paint): string {
  const steps: string[] = [];
  if (pause) steps.push(`redrive receipts resume ${name}`);
  if (counts.total === 0) steps.push(`redrive receipts send ${name} --data '{"task_id": "t-1"}'`);
  if (workers.length === 0 && counts.ready > 0) steps.push(`redrive receipts deliver ${name}`);
  if (counts.dead > 0) steps.push(`redrive dlq list ${name}`, `redrive receipts recover ${name}`);
  if (steps.length === 0) return "";
  return `${paint.bold("Next")}\n${steps.map((step) => `  ${paint.cyan(step)}\n`).join("")}`;
}
