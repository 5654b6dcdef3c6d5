/** The error log of all queues, and the evidence files of failures, through the command line. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type Capsule, contentBytes } from "../../src/dead-letter/capsule.ts";
import { until } from "../support/until.ts";
import { itemsJson, ONE_TRY, openProject } from "./project.ts";
import { openWorkshop, SOUND, type Workshop } from "./workshop.ts";

type ErrorEntryJson = {
  readonly id: number;
  readonly timestamp: string;
  readonly name: string;
  readonly origin: string;
  readonly queue: string;
  readonly item_id: string;
  readonly attempt: number;
  readonly machine: string;
  readonly execution_id: string;
  readonly error_message: string;
};
type ErrorsJson = { readonly errors: readonly ErrorEntryJson[]; readonly next: string | null };

const report = (json: object) => `printf '%s' '${JSON.stringify(json)}' > "$REDRIVE_FAILURE_FILE"`;
const PNG = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.from("a picture")]);
const DIGEST = createHash("sha256").update(PNG).digest("hex");
const ONCE = ["--retries", "0", "-q"];

const errorsOf = (shop: Workshop, ...flags: string[]) => shop.json<ErrorsJson>("errors", ...flags);

describe("redrive errors", () => {
  /** Two queues; every attempt fails but the second one of order 2. */
  async function twoQueues(): Promise<Workshop> {
    const shop = openWorkshop();
    const refuse = 'echo "order $1 was refused" >&2; [ "$1-$REDRIVE_ATTEMPT" = 2-2 ] || exit 9';
    const flags = ["--name", "orders", "--retries", "1", "--backoff", "none", "--jobs", "1", "-q"];
    await shop.map([1, 2], refuse, flags);
    const said = {
      message: "Element not found on screen within timeout",
      execution_id: "20260216143022",
      flow: "DF0001-GenerateGuide",
      subflow: "Main",
      action: 5,
      action_name: "Click UI Element in Window",
      evidence: [shop.path("shot.png")],
    };
    shop.write("shot.png", PNG);
    await shop.map([3], `${report(said)}; exit 1`, ["--name", "guides", ...ONCE]);
    return shop;
  }

  it("lists every failure of every queue, even of a retried attempt, newest first", async () => {
    const shop = await twoQueues();
    const { errors, next } = await errorsOf(shop);
    expect(next).toBeNull();
    expect(errors.map(({ error_message, attempt }) => `${attempt} ${error_message.slice(-19)}`)).toEqual([
      "1 reen within timeout",
      "2 order 1 was refused",
      "1 order 2 was refused",
      "1 order 1 was refused",
    ]);
    expect(errors[0]).toMatchObject({
      name: "Error-20260216143022-DF0001-GenerateGuide",
      origin: "work",
      machine: hostname(),
      execution_id: "20260216143022",
      flow: "DF0001-GenerateGuide",
      subflow: "Main",
      action: "5",
      action_name: "Click UI Element in Window",
      error_class: "unknown",
      evidence: [{ path: shop.path("shot.png"), sha256: DIGEST, bytes: PNG.length, media_type: "image/png" }],
    });
    const { stdout } = await shop.run(["errors"]);
    expect(stdout).toMatch(/^.*\nTIME +QUEUE +ITEM +TRY +(WHERE +)?ERROR\n/);
    expect(stdout.trimEnd().split("\n")).toHaveLength(6);
    expect((await shop.run(["errors", "--format", "json"])).json<ErrorsJson>().errors).toEqual(errors);
  });

  it("selects those of a queue, an item, an origin or a time, and pages", async () => {
    const shop = await twoQueues();
    const all = (await errorsOf(shop)).errors;
    const guides = await errorsOf(shop, "--queue", "guides");
    expect(guides.errors).toEqual(all.slice(0, 1));
    expect((await errorsOf(shop, "--queue", "orders,guides")).errors).toEqual(all);
    const item = all[3]?.item_id ?? "";
    expect((await errorsOf(shop, "--item", item.slice(0, 8))).errors).toEqual(
      all.filter(({ item_id }) => item_id === item),
    );
    expect((await errorsOf(shop, "--origin", "work")).errors).toEqual(all);
    expect((await errorsOf(shop, "--origin", "runner")).errors).toEqual([]);
    expect((await errorsOf(shop, "--since", "1h")).errors).toEqual(all);
    expect((await errorsOf(shop, "--since", "0ms")).errors).toEqual([]);
    const first = await errorsOf(shop, "--limit", "3");
    const second = await errorsOf(shop, "--limit", "3", "--cursor", first.next ?? "");
    expect([...first.errors, ...second.errors]).toEqual(all);
    expect(second.next).toBeNull();
    const { stdout } = await shop.run(["errors", "--queue", "orders", "--limit", "1"]);
    expect(stdout).toContain("Next page: redrive errors --queue orders --limit 1 --cursor ");
  });

  it("refuses unknown names instead of reporting no errors", async () => {
    const shop = await twoQueues();
    for (const flags of [
      ["--queue", "nowhere"],
      ["--item", "nobody"],
    ]) {
      const { code, stderr } = await shop.run(["errors", ...flags]);
      expect(code).toBe(4);
      expect(stderr).toMatch(/There is no (job nowhere|item nobody)/);
    }
    expect((await shop.run(["errors", "--cursor", "x"])).code).toBe(2);
    expect((await shop.run(["errors", "--cursor", "9", "--follow"])).code).toBe(2);
    expect((await shop.run(["errors", "--origin", "me"])).code).toBe(2);
  });

  it("has the bodies of Power Automate's error queues, equal to those of an export of the letters", async () => {
    const shop = await twoQueues();
    const listed = await shop.run(["errors", "--format", "error-body", "--queue", "guides"]);
    const [body] = listed.json<readonly Record<string, unknown>[]>();
    const seven = {
      ExecutionId: "20260216143022",
      DesktopFlow: "DF0001-GenerateGuide",
      Subflow: "Main",
      Action: "5",
      "Action name": "Click UI Element in Window",
      "Error Message": "Element not found on screen within timeout",
      "Error Evidence": shop.path("shot.png"),
    };
    expect(Object.entries(body ?? {}).slice(0, 7)).toEqual(Object.entries(seven));
    const exported = await shop.run(["dlq", "export", "-", "--format", "error-body", "--job", "guides"]);
    const [line = ""] = exported.stdout.split("\n");
    expect(Object.entries(JSON.parse(line) as object).slice(0, 7)).toEqual(Object.entries(seven));
  });

  it("can be followed", async () => {
    const shop = await twoQueues();
    const following = shop.start(["errors", "--follow", "--json", "--limit", "1"]);
    await until("the latest", () => following.stdout.split("\n").length === 2);
    await shop.map([4], "exit 4", ["--name", "later", ...ONCE]);
    await until("the new one", () => following.stdout.split("\n").length === 3);
    following.signal("SIGINT");
    const { stdout } = await following.ended;
    const messages = stdout
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as ErrorEntryJson).error_message);
    expect(messages).toEqual([
      "Element not found on screen within timeout",
      expect.stringContaining("exit code 4"),
    ]);
  });
});

describe("the runner's own errors", () => {
  it("pitfall 44: are in the log as the runner's, and the item runs when the failure is over", async () => {
    const shop = openWorkshop();
    // The first item removes the runner's folder for running attempts: large output cannot be kept any more.
    const take = `d=$(dirname "$REDRIVE_FAILURE_FILE"); echo "$1 $d" >> $L; [ "$1" = 2 ] || exec mv "$d" "$d.away"; head -c 200000 /dev/zero`;
    const run = shop.start(shop.mapArgs(take, ["--name", "q", "--jobs", "1", "-q"]), { stdin: "1\n2\n" });
    const ofRunner = async () => (await errorsOf(shop, "--origin", "runner")).errors;
    await until(
      "an error of the runner",
      async () => shop.ledger.length > 0 && (await ofRunner()).length > 0,
    );
    const entry = (await ofRunner()).at(-1);
    expect(entry).toMatchObject({
      origin: "runner",
      attempt: 1,
      machine: hostname(),
      error_type: null,
      error_message: "its output could not be kept (ENOENT)",
    });
    const folder = shop.ledger[0]?.slice(2) ?? "";
    renameSync(`${folder}.away`, folder);
    expect((await run.ended).code).toBe(0);
    expect(new Set(shop.ledger.map((line) => line.slice(0, 1)))).toEqual(new Set(["1", "2"]));
    expect((await errorsOf(shop, "--item", entry?.item_id ?? "", "--origin", "work")).errors).toEqual([]);
    expect(await shop.check()).toBe(SOUND);
  });

  it("pitfall 44: one that ends the whole run is in the log too, and the job continues when it is over", async () => {
    const shop = openWorkshop();
    const flags = ["--name", "q", ...ONCE];
    await shop.map([1], "true", flags);
    rmSync(shop.path("redrive/logs"), { recursive: true });
    shop.write("redrive/logs", "no folder");
    const { code } = await shop.map([1, 2], 'echo "$1" >> $L', flags.concat("--accept-changes"));
    expect(code).toBe(75);
    const { errors } = await errorsOf(shop, "--origin", "runner");
    expect(errors).toMatchObject([{ item_id: null, machine: hostname(), origin: "runner" }]);
    expect(errors[0]?.error_message).toMatch(/^E(NOTDIR|EXIST)/);
    rmSync(shop.path("redrive/logs"));
    expect((await shop.map([1, 2], 'echo "$1" >> $L', flags)).code).toBe(0);
    expect(shop.ledger).toEqual(["2"]);
  });
});

describe("evidence", () => {
  const shoot = `${report({ message: "no", evidence: ["shots/7.png", "gone.png", "shots"] })}; exit 1`;

  function withShot(): Workshop {
    const shop = openWorkshop();
    mkdirSync(shop.path("shots"));
    shop.write("shots/7.png", PNG);
    return shop;
  }

  it("is recorded with its properties, or as missing or not a file; no copy is made", async () => {
    const shop = withShot();
    await shop.map([7], shoot, ONCE);
    const [letter] = await shop.letters();
    expect(letter?.failure_history[0]?.evidence).toEqual([
      {
        path: shop.path("shots/7.png"),
        sha256: DIGEST,
        bytes: PNG.length,
        media_type: "image/png",
        host: hostname(),
      },
      { path: shop.path("gone.png"), host: hostname(), missing: true },
      { path: shop.path("shots"), host: hostname(), problem: "is a folder" },
    ]);
    expect(existsSync(shop.path("redrive/evidence"))).toBe(false);
    const { items } = await shop.json<{ items: unknown[] }>(
      "dlq",
      "list",
      "--filter",
      "failure.evidence[0].media_type == 'image/png'",
    );
    expect(items).toHaveLength(1);
  });

  it("pitfall 47: is kept with --keep-evidence, even of a retry, and outlives the file itself", async () => {
    const shop = withShot();
    await shop.map([7], shoot, ["--keep-evidence", ...ONCE]);
    const [letter] = await shop.letters();
    const kept = letter?.failure_history[0]?.evidence?.[0]?.kept ?? "";
    expect(kept).toBe(join(shop.path("redrive/evidence"), DIGEST.slice(0, 2), DIGEST));
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    rmSync(shop.path("shots/7.png"));
    expect(readFileSync(kept)).toEqual(PNG);
    const { stdout } = await shop.run(["dlq", "inspect", letter?.item_id ?? ""]);
    expect(stdout).toContain(`kept as ${kept})`);
    shop.write("shots/7.png", "another picture");
    await shop.run(["dlq", "retry", letter?.job_id ?? "", "--yes", "-q"]);
    const [again] = await shop.letters();
    expect(readFileSync(again?.failure_history[1]?.evidence?.[0]?.kept ?? "", "utf8")).toBe(
      "another picture",
    );
    const capsule = shop.path("c.json.gz");
    await shop.run(["dlq", "capsule", letter?.item_id ?? "", "--output", capsule]);
    const { files } = JSON.parse(gunzipSync(readFileSync(capsule)).toString()) as Capsule;
    const [shot] = files.filter(({ kind, path }) => kind === "evidence" && path.endsWith("7.png"));
    expect(shot).toMatchObject({ attempt_number: 1, path: shop.path("shots/7.png") });
    expect(shot && contentBytes(shot)).toEqual(PNG);
  });

  it("of a worker of a queue is recorded and kept in the same way, and its errors are in the log", async () => {
    const shop = withShot();
    await shop.run(["queue", "create", "guides", "--max-retries", "1", "--backoff", "none"]);
    await shop.run(["queue", "add", "guides", "--key", "g1", "--data", "1"]);
    const worker = [
      "worker",
      "--queue",
      "guides",
      "--drain",
      "-q",
      "--keep-evidence",
      "--",
      "sh",
      "-c",
      shoot,
    ];
    expect((await shop.run(worker)).code).toBe(3);
    const { errors } = await errorsOf(shop, "--queue", "guides", "--item", "g1");
    expect(errors.map(({ attempt, queue }) => [attempt, queue])).toEqual([
      [2, "guides"],
      [1, "guides"],
    ]);
    const kept = join(shop.path("redrive/evidence"), DIGEST.slice(0, 2), DIGEST);
    expect(errors[0]).toMatchObject({ machine: hostname(), evidence: [{ kept }, { missing: true }, {}] });
    expect(readFileSync(kept)).toEqual(PNG);
  });

  it("is listed and copied, and files that no longer exist are reported", async () => {
    const shop = withShot();
    await shop.map([7], shoot, ["--retries", "1", "--backoff", "none", "-q"]);
    const [letter] = await shop.letters();
    const item = letter?.item_id ?? "";
    const listed = await shop.run(["dlq", "evidence", item, "--attempt", "2"]);
    expect(listed.code).toBe(0);
    expect(listed.stdout.trimEnd().split("\n")).toEqual([
      `#2  ${shop.path("shots/7.png")} (image/png, 17 bytes, sha256 ${DIGEST.slice(0, 12)}…)`,
      `#2  ${shop.path("gone.png")} (missing)`,
      `#2  ${shop.path("shots")} (is a folder)`,
    ]);
    const copied = await shop.run(["dlq", "evidence", item, "--out", "got", "--json"]);
    expect(copied.code).toBe(1);
    const { files } = copied.json<{ files: readonly { copy?: string; not_copied?: string }[] }>();
    expect(files).toHaveLength(6);
    expect(readFileSync(shop.path("got/attempt-1-1-7.png"))).toEqual(PNG);
    expect(files.slice(3).map(({ copy, not_copied }) => copy ?? not_copied)).toEqual([
      shop.path("got/attempt-2-4-7.png"),
      "was missing when the attempt ended",
      "is a folder",
    ]);
    shop.write("shots/7.png", "another picture");
    const changed = await shop.run(["dlq", "evidence", item, "--attempt", "1", "--out", "late"]);
    expect(changed.stdout).toContain("7.png has changed since the attempt ended\n");
    rmSync(shop.path("shots/7.png"));
    const gone = await shop.run(["dlq", "evidence", item, "--attempt", "1", "--out", "later"]);
    expect(gone.stdout).toContain("7.png no longer exists\n");
    expect((await shop.run(["dlq", "evidence", item, "--attempt", "9"])).code).toBe(4);
  });

  it("of a workflow's steps is recorded too, and kept with --keep-evidence", async () => {
    const project = openProject(itemsJson("a"));
    const shell = `printf 'text' > note.txt; ${report({ message: "no", evidence: ["note.txt"] })}; exit 1`;
    const workflow = {
      name: "shots",
      mode: "mapreduce",
      map: { input: "items.json", id_field: "id", agent_template: [{ shell }] },
      error_policy: ONE_TRY,
    };
    await project.runJson(workflow, ["--keep-evidence"]);
    const [letter] = await project.letters();
    const [file] = letter?.failure_history[0]?.evidence ?? [];
    expect(file).toMatchObject({ bytes: 4, media_type: "text/plain" });
    expect(file?.path).toMatch(/note\.txt$/);
    expect(readFileSync(file?.kept ?? "", "utf8")).toBe("text");
  });
});
