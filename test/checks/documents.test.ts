/** Links between documents lead to files and headings that are there, and README lists every page of the guide. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./sources.ts";

const pages = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md"));
const documents = [
  ...["README.md", "SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md"],
  ...pages.map((name) => `docs/${name}`),
  ...markdownOfExamples(),
];
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

describe("the documents", () => {
  it.each(documents)("every link of %s has a target", (path) => {
    const links = [...read(path).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
    const broken = links.filter((target) => !/^https?:/.test(target) && !leadsSomewhere(path, target));
    expect(broken).toEqual([]);
  });

  it("README links to every page of the guide and to SECURITY.md", () => {
    const links = read("README.md").split("\n## Documentation\n")[1] ?? "";
    const wanted = [...pages.map((name) => `docs/${name}`), "SECURITY.md"];
    expect(wanted.filter((page) => !links.includes(`(${page})`))).toEqual([]);
  });

  it("the page for operators names only alert rules and metrics that exist", () => {
    const page = read("docs/19-operations.md");
    const alerts = read("docs/monitoring/alerts.yml");
    const named = page.match(/\bRedrive[A-Z]\w+|\bredrive_\w+/g) ?? [];
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !alerts.includes(name))).toEqual([]);
  });
});

function markdownOfExamples(): readonly string[] {
  return readdirSync(join(ROOT, "examples"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md") && !path.includes("node_modules"))
    .map((path) => join("examples", path));
}

function leadsSomewhere(from: string, target: string): boolean {
  const [file = "", anchor] = target.split("#");
  const path = file === "" ? from : join(dirname(from), file);
  if (!existsSync(join(ROOT, path))) return false;
  return anchor === undefined || headingsOf(read(path)).includes(anchor);
}

/** As GitHub names them. */
function headingsOf(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{Pc}\- ]/gu, "")
      .replaceAll(" ", "-"),
  );
}
