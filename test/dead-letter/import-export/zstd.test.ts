/** Zstandard both ways: streams of frames, frames of other writers, damage, and memory that nobody can blow up. */
import { execFileSync, spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { decompress, zstdCompress, zstdDecompress } from "../../../src/dead-letter/import-export/compress.ts";

/** Only where the zstd command is there to compare with. */
const besideZstd = test.skipIf(spawnSync("zstd", ["--version"]).status !== 0);

async function* piecesOf(bytes: Buffer, length = 1000): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += length) yield bytes.subarray(start, start + length);
}

async function gather(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

/** About 3 MB, so that several frames are written. */
const text = Buffer.from(
  Array.from({ length: 60_000 }, (_, n) => `${n} ${(n * 2654435761) % 4294967296} a line of text\n`).join(""),
);

describe("zstd", () => {
  test("compressed data is decompressed unchanged", async () => {
    const packed = await gather(zstdCompress(piecesOf(text, 64_000)));
    expect(packed.length).toBeLessThan(text.length / 2);
    expect((await gather(zstdDecompress(piecesOf(packed)))).equals(text)).toBe(true);
  });

  test("an empty stream becomes an empty frame", async () => {
    const packed = await gather(zstdCompress(piecesOf(Buffer.alloc(0))));
    expect(packed.length).toBeGreaterThan(0);
    expect(await gather(zstdDecompress(piecesOf(packed)))).toEqual(Buffer.alloc(0));
  });

  test("single bytes of input give the same result", async () => {
    const packed = await gather(zstdCompress(piecesOf(Buffer.from("hello hello hello"))));
    expect((await gather(zstdDecompress(piecesOf(packed, 1)))).toString()).toBe("hello hello hello");
  });

  besideZstd("the zstd command reads what we write", async () => {
    const packed = await gather(zstdCompress(piecesOf(text, 64_000)));
    expect(execFileSync("zstd", ["-d", "-c"], { input: packed, maxBuffer: 1e8 }).equals(text)).toBe(true);
  });

  besideZstd.each([["-1"], ["-12"], ["--no-check"], ["--long=24"]])(
    "we read what the zstd command writes with %s",
    async (flag) => {
      const packed = execFileSync("zstd", ["-c", flag], { input: text, maxBuffer: 1e8 });
      expect((await gather(zstdDecompress(piecesOf(packed, 65_536)))).equals(text)).toBe(true);
    },
  );

  test("consecutive frames, and frames without data, are one stream", async () => {
    const one = await gather(zstdCompress(piecesOf(Buffer.from("one "))));
    const two = await gather(zstdCompress(piecesOf(Buffer.from("two"))));
    const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
    const all = Buffer.concat([one, skippable, two]);
    expect((await gather(zstdDecompress(piecesOf(all, 7)))).toString()).toBe("one two");
  });

  test("two streams that are read at the same time do not mix", async () => {
    const packed = await Promise.all(
      ["a", "b"].map((letter) => gather(zstdCompress(piecesOf(Buffer.alloc(300_000, letter))))),
    );
    const plain = await Promise.all(packed.map((bytes) => gather(zstdDecompress(piecesOf(bytes, 5)))));
    expect(plain.map(String)).toEqual(["a".repeat(300_000), "b".repeat(300_000)]);
  });

  test("a truncated stream is an error, after its complete part", async () => {
    const packed = await gather(zstdCompress(piecesOf(text, 64_000)));
    const got: Buffer[] = [];
    const reading = async () => {
      for await (const chunk of zstdDecompress(piecesOf(packed.subarray(0, -10)))) got.push(chunk);
    };
    await expect(reading()).rejects.toThrow("damaged: it is truncated");
    expect(Buffer.concat(got).length).toBeGreaterThan(1_500_000);
  });

  besideZstd("damage in the middle or in the checksum is an error", async () => {
    const good = execFileSync("zstd", ["-c", "--check"], { input: text, maxBuffer: 1e8 });
    for (const at of [good.length - 1, Math.floor(good.length / 2)]) {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] ?? 0) ^ 0xff;
      await expect(gather(zstdDecompress(piecesOf(bad)))).rejects.toThrow("The Zstandard data is damaged");
    }
  });

  test("data after a frame that is not a frame is an error", async () => {
    const packed = await gather(zstdCompress(piecesOf(Buffer.from("one"))));
    const all = Buffer.concat([packed, Buffer.from("something else")]);
    await expect(gather(zstdDecompress(piecesOf(all)))).rejects.toThrow("followed by other data");
  });

  besideZstd("a bomb comes out piece by piece, and can be left at any time", async () => {
    const bomb = execFileSync("zstd", ["-c"], { input: Buffer.alloc(200_000_000), maxBuffer: 1e8 });
    expect(bomb.length).toBeLessThan(100_000);
    let pieces = 0;
    for await (const chunk of zstdDecompress(piecesOf(bomb))) {
      expect(chunk.length).toBeLessThanOrEqual(128 * 1024);
      if (++pieces === 10) break;
    }
    expect((await gather(zstdDecompress(zstdCompress(piecesOf(Buffer.from("next")))))).toString()).toBe(
      "next",
    );
  });
});

describe("gzip", () => {
  test("a damaged or truncated one is an error", async () => {
    const { gzipSync } = await import("node:zlib");
    const packed = gzipSync(text);
    await expect(gather(decompress(piecesOf(packed.subarray(0, -20)), "gzip"))).rejects.toThrow(
      "damaged: it is truncated",
    );
    const bad = Buffer.from(packed);
    bad[1000] = (bad[1000] ?? 0) ^ 0xff;
    await expect(gather(decompress(piecesOf(bad), "gzip"))).rejects.toThrow("The gzip data is damaged");
  });
});
