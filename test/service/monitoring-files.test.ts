/**
 * The alert rules and the dashboard in docs/monitoring name only what `redrive metrics` gives: every metric, label and value
 * of a label is looked for in the text of a store that has some of everything, and simple limits are tried on it.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { metricsText } from "../../src/service/metrics-text.ts";
import { lost, retried, succeeded } from "../support/settlements.ts";
import { HOUR, WatchedStore } from "./watch-kit.ts";

const FOLDER = join(import.meta.dirname, "../../docs/monitoring");

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

let samples: readonly Sample[] = [];

beforeAll(async () => {
  samples = samplesIn(await metricsText((await fullStore()).engine));
});

/** A store in which everything happened that has a metric. */
async function fullStore(): Promise<WatchedStore> {
  const store = await WatchedStore.open();
  const breaker = { failureThreshold: 5, timeoutMs: 30_000, successThreshold: 3, halfOpenRequests: 3 };
  await store.queue("orders", { policy: { breaker } });
  await store.queue("quiet", { policy: { breaker } });
  await store.queue("receipts", {}, "target");
  await store.die("orders", 2);
  await store.settle(succeeded(await store.lease("orders")));
  await store.settle(lost(await store.lease("orders"), HOUR));
  await store.settle({ ...retried(await store.lease("receipts"), HOUR), counts: ["receipt.refused"] });
  await store.settle({ ...succeeded(await store.lease("receipts")), counts: ["receipt.delivered"] });
  const next = { breaker: { policy: breaker, generation: 1, gate: { kind: "open" } }, parkedUntil: 0 };
  await store.engine.settleAndLease(null, { settle: [], gate: { queue: "orders", seen: 0, next } });
  await store.engine.add("orders", [{ itemId: "waiting", data: 1 }]);
  await store.engine.changeJob("orders", { pause: { author: "ana", reason: "holiday" } });
  await store.engine.changeJob("orders", { event: { type: "store_write_failed" } });
  store.clock.advance(25 * HOUR);
  return store;
}

function samplesIn(text: string): readonly Sample[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name = "", labels = "", value = ""] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = "", word = ""]) => [key, word]);
      return { name, labels: Object.fromEntries(pairs), value: Number(value) };
    });
}

/** What is wrong with an expression: names, labels and values that no sample has. */
function unknownIn(expression: string): readonly string[] {
  const selectors = [...expression.matchAll(/\b(redrive_\w+)(?:\{([^}]*)\})?/g)];
  const wrong = selectors.flatMap(([, name = "", matchers = ""]) => {
    const own = samples.filter((sample) => sample.name === name);
    if (own.length === 0) return [`there is no metric ${name}`];
    return [...matchers.matchAll(/(\w+)\s*(=~|=)\s*"([^"]*)"/g)].flatMap(
      ([, label = "", how, value = ""]) => {
        if (!own.some(({ labels }) => label in labels)) return [`${name} has no label ${label}`];
        const isThere = how === "=~" || own.some(({ labels }) => labels[label] === value);
        return isThere ? [] : [`${name} has no ${label}="${value}"`];
      },
    );
  });
  const grouping = [...expression.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)].flatMap(([, list = ""]) =>
    list.split(",").map((label) => label.trim()),
  );
  const names = new Set(selectors.map(([, name]) => name));
  const labels = new Set(
    samples.filter(({ name }) => names.has(name)).flatMap((one) => Object.keys(one.labels)),
  );
  return [
    ...wrong,
    ...grouping.filter((one) => !labels.has(one)).map((one) => `nothing there has the label ${one}`),
  ];
}

/** The labels that the result of an expression has. */
function labelsOf(expression: string): ReadonlySet<string> {
  const by = /\bby\s*\(([^)]*)\)/.exec(expression)?.[1];
  if (by !== undefined) return new Set(by.split(",").map((label) => label.trim()));
  if (/\bsum\(/.test(expression)) return new Set();
  const name = /\bredrive_\w+/.exec(expression)?.[0];
  return new Set(samples.filter((sample) => sample.name === name).flatMap((one) => Object.keys(one.labels)));
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<string, string>>;
}

describe("the reader of expressions", () => {
  it("finds missing names", () => {
    expect(
      unknownIn('sum by (que) (redrive_dead_letter_queue_size{queue="orders",type="x"}) > redrive_depth'),
    ).toEqual([
      "redrive_dead_letter_queue_size has no label type",
      "there is no metric redrive_depth",
      "nothing there has the label que",
    ]);
    expect(unknownIn('redrive_items{state="failed"}')).toEqual(['redrive_items has no state="failed"']);
  });
});

describe("docs/monitoring/alerts.yml", () => {
  const file = parse(readFileSync(join(FOLDER, "alerts.yml"), "utf8")) as {
    readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
  };
  const rules = file.groups.flatMap((group) => group.rules);

  it("pitfall 40: uses existing metrics and labels, so that each rule can fire", () => {
    expect(rules.length).toBeGreaterThan(10);
    expect(rules.flatMap(({ alert, expr }) => unknownIn(expr).map((wrong) => `${alert}: ${wrong}`))).toEqual(
      [],
    );
  });

  it("pitfall 40: uses only labels in messages that the result of the rule has", () => {
    const wrong = rules.flatMap(({ alert, expr, annotations }) => {
      const labels = labelsOf(expr);
      const used = [
        ...Object.values(annotations)
          .join(" ")
          .matchAll(/\$labels\.(\w+)/g),
      ].map(([, one = ""]) => one);
      return used.filter((one) => !labels.has(one)).map((one) => `${alert}: ${one}`);
    });
    expect(wrong).toEqual([]);
  });

  it("has a name, a severity and a summary for each rule", () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { alert, labels, annotations, for: wait } of rules) {
      expect(alert).toMatch(/^Redrive[A-Z]\w+$/);
      expect(["info", "warning", "critical"]).toContain(labels.severity);
      expect(annotations.summary).toMatch(/\S/);
      if (wait !== undefined) expect(wait).toMatch(/^\d+[smhd]$/);
    }
  });

  it("pitfall 40: fires at its limits where something is wrong, and nowhere else", () => {
    const fired = (alert: string) => {
      const expr = rules.find((one) => one.alert === alert)?.expr ?? "";
      const [, name, how, limit = ""] = /^(redrive_\w+) (>|==) (\d+)$/.exec(expr) ?? [];
      if (name === undefined) throw new Error(`${alert} has no simple limit: ${expr}`);
      const isWrong = (value: number) => (how === ">" ? value > Number(limit) : value === Number(limit));
      return samples
        .filter((sample) => sample.name === name && isWrong(sample.value))
        .map(({ labels }) => labels.queue ?? labels.name);
    };
    expect(fired("RedriveDeadLetters")).toEqual(["orders"]);
    expect(fired("RedriveManyDeadLetters")).toEqual([]);
    expect(fired("RedriveOldDeadLetter")).toEqual(["orders"]);
    expect(fired("RedriveBreakerOpen")).toEqual(["orders"]);
    expect(fired("RedriveQueuePaused")).toEqual(["orders"]);
    expect(fired("RedriveQueueFallsBehind")).toEqual(["orders", "receipts"]);
  });
});

describe("docs/monitoring/grafana.json", () => {
  const dashboard = JSON.parse(readFileSync(join(FOLDER, "grafana.json"), "utf8")) as {
    readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
    readonly panels: readonly {
      readonly id: number;
      readonly title: string;
      readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
    }[];
  };
  const targets = dashboard.panels.flatMap(({ title, targets: own }) =>
    own.map((target) => ({ title, ...target })),
  );

  it("pitfall 40: uses existing metrics and labels", () => {
    expect(targets.length).toBeGreaterThan(10);
    expect(
      targets.flatMap(({ title, expr }) => unknownIn(expr).map((wrong) => `${title}: ${wrong}`)),
    ).toEqual([]);
    const legends = targets.flatMap(({ title, expr, legendFormat }) =>
      [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)]
        .filter(([, label = ""]) => !labelsOf(expr).has(label))
        .map(([, label]) => `${title}: ${label}`),
    );
    expect(legends).toEqual([]);
  });

  it("offers the choice of a queue by an existing label, and uses no other variable", () => {
    const queue = dashboard.templating.list.find(({ name }) => name === "queue");
    const [, name, label = ""] = /^label_values\((\w+), (\w+)\)$/.exec(queue?.query ?? "") ?? [];
    expect(samples.some((sample) => sample.name === name && label in sample.labels)).toBe(true);
    const used = JSON.stringify(dashboard.panels).match(/\$\{?(\w+)/g) ?? [];
    expect(new Set(used.map((one) => one.replace(/\W/g, "")))).toEqual(
      new Set(["datasource", "queue", "__rate_interval"]),
    );
  });

  it("shows every existing metric", () => {
    const shown = targets.map(({ expr }) => expr).join(" ");
    const missing = new Set(samples.map(({ name }) => name).filter((name) => !shown.includes(name)));
    expect([...missing]).toEqual([]);
  });
});
