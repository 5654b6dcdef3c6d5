/** Values that the `redact` rules hide from a role stay hidden in every tool of an agent with that role. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { DEFAULT_CONFIG } from "../../src/config/settings.ts";
import { jobLogs } from "../../src/store/home.ts";
import { queueWithLetters } from "./kit.ts";
import { agentKit } from "./mcp-kit.ts";

const SECRET = "hunter2-hunter2";

test("an agent sees no hidden value, whatever it calls; an admin's agent sees it", async () => {
  const redact = [{ paths: ["password"], below: "admin" }] as const;
  const config = async () => ({ ...DEFAULT_CONFIG, redact });
  const kit = await agentKit({ config, allowsAgentChanges: true });
  const log = jobLogs(kit.home, "orders").log("o-1", 1);
  mkdirSync(dirname(log), { recursive: true });
  writeFileSync(log, `sending ${SECRET}\n`);
  const data = { password: SECRET, bad: `login with ${SECRET} refused`, log };
  await queueWithLetters(kit.engine, "orders", [
    { key: "o-1", data },
    { key: "o-2", data },
  ]);
  const address = { queue: "orders", item_id: "o-1" };
  const uris = ["redrive://letters/orders/o-1", "redrive://logs/orders/o-1/1"];
  const seenBy = async (role: "operator" | "admin") => {
    const agent = await kit.agent(role, role);
    const groups = await agent.ask("list_groups");
    const [{ signature }] = groups.facts.groups;
    const edit = { patch: { more: 1 } };
    const change = { action: "edit", filter: { queue: "orders", ids: ["o-1"] }, reason: "test", edit };
    const answers = {
      groups,
      explained: await agent.ask("explain_group", { group: signature }),
      listed: await agent.ask("list_letters"),
      searched: await agent.call("list_letters", { search: SECRET }),
      inspected: await agent.ask("inspect_letter", address),
      part: await agent.ask("inspect_letter", { ...address, part: "item_data" }),
      log: await agent.ask("read_log", address),
      compared: await agent.ask("read_log", { ...address, attempt: 1, compare_with: 1 }),
      edited: await agent.ask("preview_edit", { ...address, ...edit }),
      previewed: await agent.ask("preview_change", change),
      letter: await agent.client.readResource({ uri: uris[0] ?? "" }),
      output: await agent.client.readResource({ uri: uris[1] ?? "" }),
    };
    return Object.entries(answers)
      .filter(([, answer]) => JSON.stringify(answer).includes(SECRET))
      .map(([name]) => name);
  };
  expect(await seenBy("operator")).toEqual([]);
  expect(await seenBy("admin")).toEqual(
    expect.arrayContaining(["inspected", "part", "log", "letter", "output"]),
  );
});
