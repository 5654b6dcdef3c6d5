/** Values that the rules of redrive.yml hide: in data, former data, messages, output and events; and no way around. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { DEFAULT_CONFIG } from "../../src/config/settings.ts";
import { LETTER_STATES } from "../../src/item/state.ts";
import { jobLogs } from "../../src/store/home.ts";
import { type Kit, queueWithLetters, serverKit } from "./kit.ts";

const SECRET = "DE89370400440532013000";
const PASSWORD = "hunter2-hunter2";
const params = { queue: "orders", item_id: "o-1" };

async function withSecrets(): Promise<Kit> {
  const redact = [
    { paths: ["customer.iban", "**.password"], below: "admin" },
    { paths: ["lines.*.price"], below: "operator" },
  ] as const;
  const kit = await serverKit({ config: async () => ({ ...DEFAULT_CONFIG, redact }) });
  const log = jobLogs(kit.home, "orders").log("o-1", 1);
  mkdirSync(dirname(log), { recursive: true });
  writeFileSync(log, `sending ${SECRET} with ${PASSWORD}`);
  const data = {
    customer: { iban: SECRET, name: "Ann" },
    deep: [{ password: PASSWORD }],
    lines: [{ price: 12345 }],
    bad: `account ${SECRET} refused`,
    log,
  };
  await queueWithLetters(kit.engine, "orders", [{ key: "o-1", data }]);
  return kit;
}

const READS = [
  ["GET /groups", {}],
  ["GET /groups/suggestions", {}],
  ["GET /letters", {}],
  ["GET /letters", { query: { brief: true } }],
  ["GET /letters/{queue}/{item_id}", { params }],
  ["GET /items", { query: { queue: "orders" } }],
  ["GET /items/{queue}/{item_id}", { params }],
  ["GET /items/{queue}/{item_id}/attempts", { params }],
  ["GET /errors", {}],
  ["GET /events/list", {}],
] as const;

test("no read route shows a hidden value to a role below the rule's, and all show it to an admin", async () => {
  const kit = await withSecrets();
  const operator = await kit.as("operator");
  const admin = await kit.as("admin");
  const etag = (await admin.request("GET /letters/{queue}/{item_id}", { params })).etag;
  const body = { patch: { customer: { iban: "DE00" }, bad: "fixed" } };
  await admin.call("PATCH /letters/{queue}/{item_id}", { params, ifMatch: String(etag), body });
  for (const [name, input] of READS) {
    const seen = JSON.stringify(await operator.call(name, input as never));
    expect(seen, name).not.toContain(SECRET);
    expect(seen, name).not.toContain(PASSWORD);
  }
  const whole = JSON.stringify(await admin.call("GET /letters/{queue}/{item_id}", { params }));
  expect(whole).toContain(SECRET);
  const letter = await operator.call("GET /letters/{queue}/{item_id}", { params });
  expect(letter.item_data).toMatchObject({
    customer: { iban: "[redacted]", name: "Ann" },
    deep: [{ password: "[redacted]" }],
    lines: [{ price: 12345 }],
  });
  const viewer = await kit.as("viewer");
  const less = await viewer.call("GET /letters/{queue}/{item_id}", { params });
  expect(less.item_data).toMatchObject({ lines: [{ price: "[redacted]" }] });
});

test("logs are masked; what cannot be masked is refused, and so are filters that could guess", async () => {
  const kit = await withSecrets();
  const viewer = await kit.as("viewer");
  const log = await viewer.call("GET /items/{queue}/{item_id}/log", { params });
  expect(await log.text()).toBe("sending [redacted] with [redacted]");
  const operator = await kit.as("operator");
  const forbidden = { status: 403, code: "forbidden" };
  await expect(operator.call("GET /letters/{queue}/{item_id}/capsule", { params })).rejects.toMatchObject(
    forbidden,
  );
  await expect(operator.call("GET /letters/export")).rejects.toMatchObject(forbidden);
  const guess = { filter: 'item.customer.iban.startsWith("DE")' };
  await expect(operator.call("GET /letters", { query: guess })).rejects.toMatchObject(forbidden);
  await expect(operator.call("GET /letters/count", { query: { search: "DE8" } })).rejects.toMatchObject(
    forbidden,
  );
  const body = { action: "retry", filter: { queue: "orders", ...guess } } as const;
  await expect(operator.call("POST /selections", { body })).rejects.toMatchObject(forbidden);
});

test("the differences of an edit and the samples of a preview are masked", async () => {
  const kit = await withSecrets();
  const operator = await kit.as("operator");
  const { etag } = await operator.request("GET /letters/{queue}/{item_id}", { params });
  const edited = await operator.call("PATCH /letters/{queue}/{item_id}", {
    params,
    ifMatch: String(etag),
    query: { dry_run: true },
    body: { patch: { customer: { iban: null } } },
  });
  expect(JSON.stringify(edited)).not.toContain(SECRET);
  const held = await operator.call("POST /selections", {
    body: { action: "discard", filter: { queue: "orders", ids: ["o-1"] }, reason: "x" },
  });
  expect(JSON.stringify(held)).not.toContain(SECRET);
});

test("titles and patterns of groups are masked, wherever they are shown", async () => {
  const secret = "Rosenkavalier";
  const config = async () => ({ ...DEFAULT_CONFIG, redact: [{ paths: ["opera"], below: "admin" }] as const });
  const kit = await serverKit({ config });
  const data = { opera: secret, bad: `the opera ${secret} is sold out` };
  await queueWithLetters(kit.engine, "orders", [{ key: "o-1", data }]);
  const admin = await kit.as("admin");
  const operator = await kit.as("operator");
  const { groups } = await admin.call("GET /groups");
  expect(groups[0]?.title).toContain(secret); // otherwise nothing below would be tested
  const group = { group: String(groups[0]?.signature) };
  const body = { action: "discard", filter: { queue: "orders" }, all_of_queue: true, reason: "x" } as const;
  const shown = [
    await operator.call("GET /groups"),
    await operator.call("GET /groups/{group}", { params: group }),
    await operator.call("GET /groups/{group}/explain", { params: group }),
    await operator.call("GET /letters/analysis", { query: { queue: "orders" } }),
    await operator.call("POST /selections", { body }),
    await operator.call("GET /jobs/{job}", { params: { job: "orders" } }),
    await operator.call("GET /events/list", { query: { type: ["group_opened"] } }),
    await operator.call("POST /groups/{group}/notes", { params: group, body: { text: "seen" } }),
  ];
  for (const document of shown) expect(JSON.stringify(document)).not.toContain(secret);
  expect(JSON.stringify(shown[0])).toContain("the opera [redacted] is sold out");
  await admin.call("POST /letters/{queue}/{item_id}/discard", { params, body: { reason: "x" } });
  const cleared = { action: "clear", filter: { queue: "orders" }, all_of_queue: true } as const;
  const held = await admin.call("POST /selections", { body: cleared });
  await admin.call("POST /operations", { body: { selection_id: held.selection_id, count: held.count } });
  await expect
    .poll(async () => (await kit.engine.listLetters({ limit: 1, states: LETTER_STATES })).total)
    .toBe(0);
  const rest = JSON.stringify(await operator.call("GET /events/list", { query: { type: ["group_opened"] } }));
  expect(rest).not.toContain(secret);
  expect(rest).toContain("Unknown::[redacted]");
});

test("suggestions to merge groups name no hidden value", async () => {
  const redact = [{ paths: ["city"], below: "admin" }] as const;
  const kit = await serverKit({ config: async () => ({ ...DEFAULT_CONFIG, redact }) });
  const letterOf = (city: string) => ({
    key: city,
    data: { city, bad: `no ${city} archive here` },
  });
  await queueWithLetters(kit.engine, "orders", [letterOf("rome"), letterOf("lima")]);
  const seen = async (role: "admin" | "viewer") => {
    const { suggestions } = await (await kit.as(role)).call("GET /groups/suggestions");
    expect(suggestions).toHaveLength(1);
    return JSON.stringify(suggestions);
  };
  const [admin, viewer] = await Promise.all([seen("admin"), seen("viewer")]); // roles share no read
  expect(admin).toContain("rome");
  expect(viewer).not.toContain("rome");
  expect(viewer).not.toContain("lima");
});
