/** `watch:` in the settings: what each key becomes, and every mistake with its place. */
import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/config/read-config.ts";
import { RedriveError } from "../../src/errors.ts";
import { DEFAULT_WATCH } from "../../src/service/alert-settings.ts";

const watchOf = async (text: string) => (await readConfig(text, "/project/redrive.yml")).watch;

async function problemsOf(text: string): Promise<string[]> {
  try {
    await readConfig(text, "r.yml");
    return [];
  } catch (error) {
    if (!(error instanceof RedriveError) || error.code !== "usage") throw error;
    return error.message
      .split("\n")
      .slice(1)
      .map((line) => line.trim());
  }
}

describe("the rules of alerts", () => {
  test("default to every letter, open breakers and the store, every half hour", async () => {
    expect(await watchOf("{}")).toEqual(DEFAULT_WATCH);
    expect(await watchOf("watch: {}")).toEqual(DEFAULT_WATCH);
    expect(DEFAULT_WATCH.schedule).toBe("*/30 * * * *");
    expect(DEFAULT_WATCH.rules.map(({ name, severity, coolDownMs }) => [name, severity, coolDownMs])).toEqual(
      [
        ["depth 1", "warning", 3_600_000],
        ["breaker_open", "warning", 3_600_000],
        ["store_unhealthy", "critical", 3_600_000],
      ],
    );
  });

  test("every key has an effect", async () => {
    const watch = await watchOf(`watch:
  schedule: "0 * * * *"
  time_zone: Europe/Berlin
  on_arrival: false
  gather: 10s
  cool_down: 2h
  recovery: false
  quiet_hours: { from: "22:00", to: "7:30" }
  rules:
    - depth: 5
      queues: [orders*, "!orders-test"]
      severity: critical
      channels: ops
      cool_down: 10m
    - { name: too old, oldest: 24h, queues: guides }
    - { arrival_rate: 20/10m, channels: [ops, hook] }
    - arrival_rate: 100 / h
    - new_group: true
    - breaker_open: true
    - store_unhealthy: true
  channels:
    ops: { type: teams, url_env: TEAMS_URL }
    team: { type: slack, url: "https://hooks.example/x", timeout: 3s }
    hook: { type: webhook, url: "http://127.0.0.1:9/x", headers_env: { Authorization: HOOK_TOKEN } }
    page: { type: command, command: [./page, --now] }
`);
    const common = { queues: [], severity: "warning", coolDownMs: 7_200_000 };
    expect(watch).toEqual({
      schedule: "0 * * * *",
      timeZone: "Europe/Berlin",
      onArrival: false,
      gatherMs: 10_000,
      recovery: false,
      quietHours: { from: 1320, to: 450, timeZone: "Europe/Berlin" },
      rules: [
        {
          name: "depth 5 of orders*, !orders-test",
          condition: { kind: "depth", letters: 5 },
          queues: ["orders*", "!orders-test"],
          severity: "critical",
          channels: ["ops"],
          coolDownMs: 600_000,
        },
        { ...common, name: "too old", condition: { kind: "oldest", ageMs: 86_400_000 }, queues: ["guides"] },
        {
          ...common,
          name: "arrival_rate 20/10m",
          condition: { kind: "arrival_rate", letters: 20, withinMs: 600_000 },
          channels: ["ops", "hook"],
        },
        {
          ...common,
          name: "arrival_rate 100/h",
          condition: { kind: "arrival_rate", letters: 100, withinMs: 3_600_000 },
        },
        { ...common, name: "new_group", condition: { kind: "new_group" } },
        { ...common, name: "breaker_open", condition: { kind: "breaker_open" } },
        { ...common, name: "store_unhealthy", condition: { kind: "store_unhealthy" } },
      ],
      channels: [
        { name: "ops", type: "teams", timeoutMs: 10_000, to: { urlEnv: "TEAMS_URL" } },
        { name: "team", type: "slack", timeoutMs: 3000, to: { url: "https://hooks.example/x" } },
        {
          name: "hook",
          type: "webhook",
          timeoutMs: 10_000,
          to: { url: "http://127.0.0.1:9/x" },
          headersEnv: { Authorization: "HOOK_TOKEN" },
        },
        { name: "page", type: "command", timeoutMs: 10_000, command: ["./page", "--now"], cwd: "/project" },
      ],
    });
  });

  test("the common cool-down also applies to default rules", async () => {
    const { rules } = await watchOf("watch: { cool_down: 5m }");
    expect(new Set(rules.map(({ coolDownMs }) => coolDownMs))).toEqual(new Set([300_000]));
  });

  test("rules for the same condition are distinguished", async () => {
    const { rules } = await watchOf(
      "watch:\n  rules: [{ depth: 1 }, { depth: 1, severity: info }, { depth: 1, severity: critical }]",
    );
    expect(rules.map(({ name }) => name)).toEqual(["depth 1", "depth 1 (2)", "depth 1 (3)"]);
  });
});

describe("mistakes", () => {
  test("are all reported at once, in line order, with suggestions", async () => {
    const text = `watch:
  shedule: "* * * * *"
  schedule: every hour
  time_zone: Europe/Berln
  quiet_hours: { from: "22:00", to: "25:00" }
  rules:
    - depth: 0
    - { depth: 1, channels: opps, severity: critcal }
    - { depth: 1, oldest: 1h }
    - severity: info
    - { name: a, new_group: false }
    - { name: a, arrival_rate: many }
    - { store_unhealthy: true, queues: x }
  channels:
    ops: { type: teams }
    two: { type: slack, url: "https://x", url_env: X }
    cmd: { type: command, command: [x], url: "https://x" }
    hook: { type: webhook, url: "example.org" }
    "@x": { type: command, command: [x] }
`;
    expect(await problemsOf(text)).toEqual([
      'r.yml:2:3: watch.shedule: unknown key "shedule". Did you mean schedule?',
      "r.yml:3:13: watch.schedule: expected a cron pattern with five fields (minute, hour, day, month, weekday), such as */30 * * * *",
      "r.yml:4:14: watch.time_zone: unknown time zone. Did you mean Europe/Berlin?",
      "r.yml:5:37: watch.quiet_hours.to: expected a time of day, such as 22:00",
      "r.yml:7:14: watch.rules[0].depth: expected a whole number of at least 1",
      'r.yml:8:29: watch.rules[1].channels: there is no channel "opps". Did you mean ops?',
      "r.yml:8:45: watch.rules[1].severity: expected one of info, warning, critical. Did you mean critical?",
      "r.yml:9:19: watch.rules[2].oldest: a rule can have only one condition, and this one already has depth",
      "r.yml:10:7: watch.rules[3]: a rule needs one of depth, oldest, arrival_rate, new_group, breaker_open, store_unhealthy",
      "r.yml:11:29: watch.rules[4].new_group: expected true; remove the rule to disable it",
      'r.yml:12:15: watch.rules[5].name: the name "a" is already used by another rule',
      "r.yml:12:32: watch.rules[5].arrival_rate: expected a number of letters and a time of whole minutes, such as 20/10m, 100/h or 500/d",
      "r.yml:13:32: watch.rules[6].queues: queues has no effect for store_unhealthy",
      "r.yml:15:10: watch.channels.ops: teams needs url or url_env",
      "r.yml:16:43: watch.channels.two.url_env: url is already set",
      "r.yml:17:41: watch.channels.cmd.url: url has no effect for command",
      "r.yml:18:33: watch.channels.hook.url: expected a URL that begins with https:// or http://",
      "r.yml:19:5: watch.channels.@x: the name of a channel consists of letters, digits, dots and dashes",
    ]);
  });

  test.each([
    [
      "quiet_hours: { from: '8:00', to: '8:00' }",
      "from and to are the same, so the quiet hours would never end",
    ],
    ["rules: []", "expected at least one"],
    ["schedule: '0 0 31 2 *'", "it never matches a time"],
    ["channels: { a: { type: webhok, url: 'http://x' } }", "Did you mean webhook?"],
    [
      "channels: { a: { type: slack, url: 'http://x', headers_env: { A: B } } }",
      "headers_env has no effect for slack",
    ],
  ])("%s", async (line, problem) => {
    expect(await problemsOf(`watch:\n  ${line}`)).toEqual([expect.stringContaining(problem)]);
  });
});
