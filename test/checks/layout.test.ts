/** How a file of src/ looks: it says what it is, stays readable, and names what it gives away. */
import { describe, expect, it } from "vitest";
import { readSources } from "./sources.ts";

const LINES_MAX = 400;
const sources = readSources();

describe("the files of src/", () => {
  it("every file opens with a comment that describes it", () => {
    const wrong = sources.filter(({ text }) => !/^\/\*\*?\s+\S/.test(text));
    expect(wrong.map((source) => source.path)).toEqual([]);
  });

  it(`no file is longer than ${LINES_MAX} lines`, () => {
    const lines = sources.map(({ path, text }) => ({ path, lines: text.trimEnd().split("\n").length }));
    expect(lines.filter((file) => file.lines > LINES_MAX)).toEqual([]);
  });

  it("nothing is exported by default", () => {
    const wrong = sources.filter(({ text }) => /^export default\b|\bas default\b/m.test(text));
    expect(wrong.map((source) => source.path)).toEqual([]);
  });

  it("file names are kebab-case", () => {
    const wrong = sources.filter(({ path }) => !/^([a-z0-9-]+\/)*[a-z0-9-]+\.tsx?$/.test(path));
    expect(wrong.map((source) => source.path)).toEqual([]);
  });

  it("nothing is marked as unfinished", () => {
    const wrong = sources.filter(({ text }) => /\b(TODO|FIXME|XXX)\b/.test(text));
    expect(wrong.map((source) => source.path)).toEqual([]);
  });
});
