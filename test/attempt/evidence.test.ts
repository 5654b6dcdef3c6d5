import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { collectEvidence, mediaTypeOf } from "../../src/attempt/evidence.ts";
import { type Handler, OpenAttempt, perform } from "../../src/attempt/handler.ts";
import type { LeasedItem } from "../../src/item/item.ts";
import { BusinessException } from "../../src/retry/thrown.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const PNG = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.from("a picture")]);
const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
const isRoot = process.getuid?.() === 0;

let folder: string;
const path = (name: string) => join(folder, name);
const write = (name: string, bytes: Buffer | string) => writeFileSync(path(name), bytes);

beforeEach(() => {
  const directory = new TemporaryDirectory();
  onTestFinished(() => directory.remove());
  folder = realpathSync(directory.path);
});

describe("evidence files", () => {
  it("pitfall 47: are recorded with digest, size, type and machine, by their absolute path", async () => {
    write("shot.png", PNG);
    write("dump.json", '{"a":1}');
    const found = await collectEvidence(["shot.png", path("dump.json")], { cwd: folder });
    expect(found).toEqual([
      {
        path: path("shot.png"),
        sha256: sha256(PNG),
        bytes: PNG.length,
        mediaType: "image/png",
        host: hostname(),
      },
      {
        path: path("dump.json"),
        sha256: sha256(Buffer.from('{"a":1}')),
        bytes: 7,
        mediaType: "application/json",
        host: hostname(),
      },
    ]);
  });

  it("are recorded as missing if they do not exist", async () => {
    write("file", "x");
    const found = await collectEvidence(["gone.png", "file/below"], { cwd: folder });
    expect(found).toEqual([
      { path: path("gone.png"), missing: true, host: hostname() },
      { path: path("file/below"), missing: true, host: hostname() },
    ]);
  });

  it("that are not regular files are recorded with the reason, and a pipe is not read", async () => {
    mkdirSync(path("dumps"));
    execFileSync("mkfifo", [path("pipe")]);
    const [dumps, pipe, odd] = await collectEvidence(["dumps", "pipe", "a\0b"], { cwd: folder });
    expect(dumps).toMatchObject({ path: path("dumps"), problem: "is a folder" });
    expect(pipe).toMatchObject({ path: path("pipe"), problem: "is not a regular file" });
    expect(odd?.problem).toMatch(/^cannot be read: /);
  });

  it.skipIf(isRoot)("that may not be read are recorded with the reason", async () => {
    write("secret", "x");
    chmodSync(path("secret"), 0);
    const [secret] = await collectEvidence(["secret"], { cwd: folder });
    expect(secret).toMatchObject({ path: path("secret"), problem: "cannot be read: permission denied" });
  });

  it("behind a link are recorded by the path that was read", async () => {
    write("shot-7.png", PNG);
    symlinkSync(path("shot-7.png"), path("latest.png"));
    symlinkSync(path("loop"), path("loop"));
    const [latest, loop] = await collectEvidence(["latest.png", "loop"], { cwd: folder });
    expect(latest).toMatchObject({ path: path("shot-7.png"), sha256: sha256(PNG) });
    expect(loop).toMatchObject({ problem: "cannot be read: its symbolic links are circular" });
  });

  it("outside the working folder are not read, even through a link", async () => {
    mkdirSync(path("work/below"), { recursive: true });
    mkdirSync(path("work-2"));
    for (const name of ["secret", "work-2/secret", "work/below/shot"]) write(name, "x");
    symlinkSync(path("secret"), path("work/link"));
    const named = [path("secret"), "../secret", "link", path("work-2/secret"), "below/shot"];
    const found = await collectEvidence(named, { cwd: path("work"), keepIn: path("kept") });
    expect(found.map((file) => ["sha256", "kept"].map((name) => Object.hasOwn(file, name)))).toEqual([
      [false, false],
      [false, false],
      [false, false],
      [true, true],
    ]);
    expect(found[0]).toMatchObject({
      path: path("secret"),
      problem: expect.stringMatching(/^was not read: /),
    });
    const [allowed] = await collectEvidence([path("secret")], { cwd: path("work"), folders: [folder] });
    expect(allowed).toHaveProperty("sha256");
  });

  it("below /proc, /sys and /dev are never read, whatever the working folder", async () => {
    symlinkSync("/proc/self/environ", path("environ"));
    const named = ["/proc/self/environ", "/proc/self/status", "/dev/null", path("environ")];
    for (const cwd of ["/", "/proc/self"]) {
      for (const file of await collectEvidence(named, { cwd })) {
        expect(file).not.toHaveProperty("sha256");
        expect(file.problem).toMatch(/^was not read: /);
      }
    }
  });

  it("that are named twice are recorded once", async () => {
    write("a", "x");
    expect(await collectEvidence(["a", "./a", path("a")], { cwd: folder })).toHaveLength(1);
  });

  it("beyond fifty are omitted, and the record has their number", async () => {
    const names = Array.from({ length: 60 }, (_, index) => `shot-${index}.png`);
    for (const name of names) write(name, name);
    const found = await collectEvidence(names, { cwd: folder });
    expect(found).toHaveLength(51);
    expect(found.slice(0, 50).every(({ sha256 }) => sha256 !== undefined)).toBe(true);
    expect(found.at(-1)).toEqual({
      path: path("shot-50.png"),
      problem: "was left out with 9 more: at most 50 files per attempt are recorded",
      host: hostname(),
    });
    expect(await collectEvidence(names.slice(0, 50), { cwd: folder })).toHaveLength(50);
    const [oneMore] = (await collectEvidence(names.slice(0, 51), { cwd: folder })).slice(50);
    expect(oneMore?.problem).toBe("was left out: at most 50 files per attempt are recorded");
  });

  it("that are too large, alone or together, have a size, a type and the reason for the missing digest", async () => {
    write("large.png", PNG);
    truncateSync(path("large.png"), 3000);
    for (const name of ["a", "b", "c"]) write(name, "x".repeat(400));
    const limits = { bytesMax: 2000, allBytesMax: 900 };
    const [large, a, b, c] = await collectEvidence(["large.png", "a", "b", "c"], {
      cwd: folder,
      keepIn: path("kept"),
      ...limits,
    });
    expect(large).toMatchObject({ bytes: 3000, mediaType: "image/png" });
    expect(large?.problem).toBe("is too large for a digest (more than 2000 bytes)");
    expect([a?.sha256, b?.sha256]).toEqual([expect.any(String), expect.any(String)]);
    expect(c).toMatchObject({ bytes: 400, problem: expect.stringContaining("exceed the total limit") });
    for (const file of [large, c]) {
      expect(file).not.toHaveProperty("sha256");
      expect(file).not.toHaveProperty("kept");
    }
  });

  it("are not read to the end when the runner stops", async () => {
    write("a", "x");
    const [file] = await collectEvidence(["a"], { cwd: folder, signal: AbortSignal.abort() });
    expect(file).toEqual({ path: path("a"), problem: "was not read: the runner stopped", host: hostname() });
  });
});

describe("evidence that is kept", () => {
  const keep = (...names: string[]) => collectEvidence(names, { cwd: folder, keepIn: path("evidence") });

  it("is copied under its digest, readable by its owner only, and equal content is copied once", async () => {
    write("shot.png", PNG);
    write("again.png", PNG);
    const digest = sha256(PNG);
    const [shot, again] = await keep("shot.png", "again.png");
    const kept = path(`evidence/${digest.slice(0, 2)}/${digest}`);
    expect([shot?.kept, again?.kept]).toEqual([kept, kept]);
    expect(readFileSync(kept)).toEqual(PNG);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(statSync(path("evidence")).mode & 0o777).toBe(0o700);
    expect(readdirSync(path(`evidence/${digest.slice(0, 2)}`))).toEqual([digest]);
  });

  it("remains when the file itself is changed or removed", async () => {
    write("shot.png", "first");
    const [first] = await keep("shot.png");
    write("shot.png", "second");
    const [second] = await keep("shot.png");
    expect(readFileSync(first?.kept ?? "", "utf8")).toBe("first");
    expect(readFileSync(second?.kept ?? "", "utf8")).toBe("second");
  });

  it("has the age of its last record, and a damaged copy is written again", async () => {
    write("shot.png", PNG);
    const [file] = await keep("shot.png");
    const kept = file?.kept ?? "";
    utimesSync(kept, 1, 1);
    await keep("shot.png");
    expect(statSync(kept).mtimeMs).toBeGreaterThan(1e12);
    truncateSync(kept, 3);
    await keep("shot.png");
    expect(readFileSync(kept)).toEqual(PNG);
  });

  it("that cannot be copied is recorded with the reason", async () => {
    write("shot.png", PNG);
    write("evidence", "a file where the folder should be");
    const [file] = await keep("shot.png");
    expect(file).toMatchObject({
      sha256: sha256(PNG),
      problem: expect.stringMatching(/^could not be kept: /),
    });
    expect(file).not.toHaveProperty("kept");
  });
});

describe("a handler's evidence", () => {
  const item = { ref: 1, attempt: 3 } as LeasedItem;
  const place = { attempt: 3, slot: 1, agentId: "robot-3:1:abcdef/1", author: "robot", mayStart: () => true };
  const failureOf = async (handler: Handler, options: { readonly evidenceFolder?: string } = {}) => {
    const attempt = new OpenAttempt({ ...place, stop: new AbortController().signal });
    const outcome = await perform(item, handler, attempt, { now: () => 0, ...options });
    return outcome.kind === "failed" ? outcome.failure : undefined;
  };

  it("is what it reports while it runs and what its exception names, with the source of the failure", async () => {
    write("a.png", PNG);
    const failure = await failureOf(async (_, context) => {
      context.evidence(path("a.png"));
      throw new BusinessException("no such order", {
        flow: "DF1",
        subflow: "Main",
        action: "5",
        evidence: [path("gone.png")],
      });
    });
    expect(failure?.source).toEqual({ flow: "DF1", subflow: "Main", action: "5" });
    expect(failure?.evidence).toMatchObject([
      { path: path("a.png"), sha256: sha256(PNG), mediaType: "image/png" },
      { path: path("gone.png"), missing: true },
    ]);
  });

  it("is counted even if a handler names more files than are recorded", async () => {
    const failure = await failureOf(async (_, context) => {
      for (let n = 0; n < 60; n += 1) context.evidence(path(`gone-${n}`));
      throw new Error("no");
    });
    expect(failure?.evidence).toHaveLength(51);
    expect(failure?.evidence?.at(-1)?.problem).toMatch(/^was left out with 9 more/);
  });

  it("is copied where the worker keeps it, and a success records nothing", async () => {
    write("a.png", PNG);
    const named: Handler = async (_, context) => {
      context.evidence(path("a.png"));
      throw new Error("no");
    };
    const failure = await failureOf(named, { evidenceFolder: path("evidence") });
    expect(readFileSync(failure?.evidence?.[0]?.kept ?? "")).toEqual(PNG);
    const done: Handler = async (_, context) => {
      context.evidence(path("a.png"));
      return { kind: "succeeded" };
    };
    expect(await failureOf(done)).toBeUndefined();
  });
});

describe("the type of a file", () => {
  const ZIP = Buffer.from("504b0304", "hex");
  it.each([
    ["a.png", PNG, "image/png"],
    ["wrong-name.txt", PNG, "image/png"],
    ["a.jpg", Buffer.from("ffd8ffe000104a464946", "hex"), "image/jpeg"],
    ["a.gif", Buffer.from("GIF89a.."), "image/gif"],
    ["a.webp", Buffer.from("RIFF\x10\x00\x00\x00WEBPVP8 "), "image/webp"],
    ["a.pdf", Buffer.from("%PDF-1.7\n%\xff\xff", "latin1"), "application/pdf"],
    ["a.zip", ZIP, "application/zip"],
    ["book.xlsx", ZIP, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
    ["a.json", Buffer.from("{}"), "application/json"],
    ["a.HTML", Buffer.from("<html>"), "text/html"],
    ["notes", Buffer.from("Grüße, \u4f60\u597d"), "text/plain"],
    ["cut-in-a-character.log", Buffer.from("Grü").subarray(0, 3), "text/plain"],
    ["empty", Buffer.alloc(0), "text/plain"],
    ["fake.png", Buffer.from("no picture"), "text/plain"],
    ["core", Buffer.from([0, 1, 2, 3]), "application/octet-stream"],
    ["latin", Buffer.from([0xe9, 0x74, 0xe9, 0x20, 0x20, 0x20]), "application/octet-stream"],
  ])("of %s is known", (name, head, type) => {
    expect(mediaTypeOf(name, head)).toBe(type);
  });
});
