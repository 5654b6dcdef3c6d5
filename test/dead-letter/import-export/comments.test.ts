import { expect, it } from "vitest";
import { blankComments, withoutComments } from "../../../src/dead-letter/import-export/read-json.ts";

async function read(text: string, size: number): Promise<string> {
  const bytes = Buffer.from(text);
  async function* chunks() {
    for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
  }
  const pieces: Buffer[] = [];
  for await (const piece of withoutComments(chunks())) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const COMMENTED = `# a heading
// a path: "/var/lib"
{
  "url": "https://example.test//a", // "quoted" // twice
  "text": "a \\" // no comment # none",
  # alone
  "n": 1 // (1)!
}
`;

const DATA = { url: "https://example.test//a", text: 'a " // no comment # none', n: 1 };

it.each([1, 2, 3, 7, 1000])(
  "comments are blanked in chunks of %i bytes, and strings are unchanged",
  async (size) => {
    const read1 = await read(COMMENTED, size);
    expect(JSON.parse(read1)).toEqual(DATA);
    expect(read1).toHaveLength(COMMENTED.length);
    expect(read1.split("\n")).toHaveLength(COMMENTED.split("\n").length);
  },
);

it("complete input is blanked in the same way", () => {
  expect(JSON.parse(blankComments(Buffer.from(COMMENTED)).toString())).toEqual(DATA);
});

it.each(["item_id,item_data\na,http://x\n", '{"a": 1}\n', '{"a": 1 /', ""])(
  "%j is left as it is",
  async (text) => {
    expect(await read(text, 3)).toBe(text);
  },
);
