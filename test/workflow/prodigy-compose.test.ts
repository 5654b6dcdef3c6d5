/** Workflows of Prodigy in several files: `imports`, `extends` and `template`. */
import { describe, expect, test } from "vitest";
import { parseWorkflow, problemText } from "../../src/workflow/read-workflow.ts";

type Files = Readonly<Record<string, string>>;

/** Parses /p/flows/w.yml beside these files, which are named below /p. The home is /home. */
function read(text: string, others: Files = {}, variables: readonly string[] = []) {
  const all = new Map(
    Object.entries(others).map(([path, own]) => [path.startsWith("/") ? path : `/p/${path}`, own]),
  );
  const files = { path: "/p/flows/w.yml", cwd: "/p", home: "/home", read: (path: string) => all.get(path) };
  return parseWorkflow(text, { file: "w.yml", files, variables });
}

function workflowOf(text: string, others: Files = {}, variables: readonly string[] = []) {
  const parsed = read(text, others, variables);
  if ("workflow" in parsed) return parsed.workflow;
  throw new Error(parsed.problems.map((problem) => problemText(problem, "w.yml")).join("\n"));
}

const scriptsOf = (text: string, others: Files = {}, variables?: readonly string[]) =>
  workflowOf(text, others, variables).map.steps.map(({ action }) =>
    action.kind === "shell" ? action.script : action.kind,
  );

const problemsOf = (text: string, others: Files = {}) => {
  const parsed = read(text, others);
  return "problems" in parsed ? parsed.problems.map((problem) => problemText(problem, "w.yml")) : [];
};

describe("extends", () => {
  const base = "name: base\nenv: { APP: shop, LEVEL: info }\ncommands: [{ shell: build }, { shell: ship }]\n";

  test("takes what the file lacks, merges mappings and replaces lists", () => {
    const text = "name: dev\nextends: base.yml\nenv: { LEVEL: debug }\n";
    const workflow = workflowOf(text, { "flows/base.yml": base });
    expect(workflow).toMatchObject({ name: "dev", env: { APP: "shop", LEVEL: "debug" } });
    expect(scriptsOf(text, { "flows/base.yml": base })).toEqual(["build", "ship"]);
    expect(scriptsOf(`${text}commands: [{ shell: only }]\n`, { "flows/base.yml": base })).toEqual(["only"]);
    expect(scriptsOf(`${text}steps: [{ shell: only }]\n`, { "flows/base.yml": base })).toEqual(["only"]);
  });

  test("goes on through several files, also for a map phase", () => {
    const others = {
      "flows/low.yml":
        "mode: mapreduce\nmap: { input: a.json, max_parallel: 2, agent_template: [{ shell: a }] }\n",
      "flows/mid.yml": "extends: low.yml\nmap: { max_parallel: 3, offset: 1 }\n",
    };
    expect(workflowOf("extends: mid.yml\nmap: { offset: 4 }\n", others).map).toMatchObject({
      maxParallel: 3,
      offset: 4,
      input: { file: "a.json" },
    });
  });

  test.each(["bases/ci.yml", "flows/templates/ci.yml", "workflows/ci.yaml", "ci.yml"])(
    "finds a name in %s",
    (path) => {
      expect(scriptsOf("extends: ci\n", { [path]: base })).toEqual(["build", "ship"]);
    },
  );

  test("reports the line that names the file: missing, circular, invalid", () => {
    expect(problemsOf("name: a\nextends: none.yml\n")[0]).toContain(
      "w.yml:2:10: the file none.yml in extends was not found. Looked for /p/flows/bases/none.yml",
    );
    expect(problemsOf("extends: a\n", { "a.yml": "extends: b\n", "b.yml": "extends: a\n" })[0]).toContain(
      "the file a in extends refers back to itself: /p/flows/w.yml, /p/a.yml, /p/b.yml, /p/a.yml",
    );
    expect(problemsOf("name: a\nextends: b.yml\n", { "flows/b.yml": "a: [\n" })[0]).toMatch(
      /^w\.yml:2:10: the file b\.yml in extends cannot be read: \/p\/flows\/b\.yml:\d/,
    );
    const wrong = problemsOf("name: a\nextends: b\n", { "b.yml": "commands: [{ shel: a }]\n" });
    expect(wrong[0]).toContain('w.yml:2:10: steps[0].shel: unknown key "shel". Did you mean shell?');
  });

  test("is refused where other files cannot be read", () => {
    const parsed = parseWorkflow("extends: base\ncommands: [{ shell: a }]\n", { file: "w.yml" });
    expect("problems" in parsed && parsed.problems[0]?.message).toBe(
      "extends: the other file cannot be read here. Copy the keys that this file does not have from it",
    );
  });
});

describe("imports", () => {
  const others = {
    "shared/a.yml":
      "defaults: { level: 1, mine: 0 }\ncommands: [{ shell: a1 }, { shell: a2 }]\nsetup: [{ shell: s }]\n",
    "shared/b.yml": "- shell: b1\n",
  };

  test("append steps and keep the file's own values", () => {
    const text =
      "imports: [{ path: ../shared/a.yml }, shared/b.yml]\ndefaults: { mine: 7 }\ncommands: [{ shell: 'own ${level} ${mine}' }]\n";
    expect(scriptsOf(text, others)).toEqual(["own ${level:-1} ${mine:-7}", "a1", "a2", "b1"]);
  });

  test("take steps and parameters of a list", () => {
    const more = {
      "c.yml":
        "parameters: { required: [region], optional: [{ name: size, default: 3 }] }\ncommands: [{ shell: c0 }, { shell: c1 }]\n",
    };
    const text = "imports: [{ path: c.yml, selective: ['1', size] }]\ncommands: [{ shell: 'own ${size}' }]\n";
    expect(scriptsOf(text, more)).toEqual(["own ${size:-3}", "c1"]);
    expect(problemsOf(text.replace("size]", "none]"), more)[0]).toContain(
      'selective: "none" is not a parameter',
    );
  });

  test("with an alias are not used, with a warning", () => {
    const text = "imports: [{ path: shared/b.yml, alias: x }]\ncommands: [{ shell: own }]\n";
    expect(scriptsOf(text, others)).toEqual(["own"]);
    expect(read(text, others).warnings).toMatchObject([
      {
        line: 1,
        message:
          "nothing from shared/b.yml is used because of alias, as in Prodigy. Without alias, its steps are appended",
      },
    ]);
  });
});

describe("template", () => {
  const template =
    "name: t\nparameters: { required: [where], optional: [{ name: size, default: 1 }] }\nenv: { LEVEL: info }\ncommands: [{ shell: 'ship ${where} ${size}' }, { shell: check }]\n";
  const use = (rest: string) => `name: mine\ntemplate:\n  name: x\n  source: ship\n${rest}`;

  test("is found by its name, here or at home, and gets its parameters", () => {
    const text = use("  with: { where: eu }\ncommands: [{ shell: first }]\n");
    const scripts = ["first", "ship ${where:-eu} ${size:-1}", "check"];
    for (const path of [
      ".prodigy/templates/ship.yml",
      "templates/ship.yml",
      "/home/.prodigy/templates/ship.yml",
    ])
      expect(scriptsOf(text, { [path]: template })).toEqual(scripts);
    expect(workflowOf(text, { "templates/ship.yml": template })).toMatchObject({
      name: "mine",
      env: { LEVEL: "info", where: "eu" },
    });
    const file = text.replace("source: ship", "source: { file: ../t/s.yml }");
    expect(scriptsOf(file, { "t/s.yml": template })).toEqual(scripts);
  });

  test("may be changed: whole keys, and values inside of them", () => {
    const others = { "templates/ship.yml": template };
    const text = use(
      "  with: { where: eu }\n  override: { commands.1.timeout: 9, env: { LEVEL: warn }, odd: 1 }\n",
    );
    const workflow = workflowOf(text, others);
    expect(workflow.map.steps[1]).toMatchObject({ timeoutMs: 9000 });
    expect(workflow.env).toMatchObject({ LEVEL: "warn" });
    expect(read(text, others).warnings.map(({ message }) => message)).toContain(
      "override: odd has no effect, because the template does not have this key",
    );
  });

  test("with a parameter that has no value needs --var", () => {
    const others = { "templates/ship.yml": template };
    expect(read(use(""), others).warnings.map(({ message }) => message)).toContain(
      "the parameter where has no value. Pass one: --var where=VALUE",
    );
    expect(read(use(""), others, ["where"]).warnings).toEqual([]);
  });

  test("from an address is refused", () => {
    expect(problemsOf("template: { source: 'https://x.test/a.yml' }\n")[0]).toContain(
      "Save the template as a file",
    );
  });
});

describe("parameters and defaults", () => {
  test("may be plain names", () => {
    const text = "parameters: { required: [a], optional: [b] }\ncommands: [{ shell: 'x ${a} ${b}' }]\n";
    expect(read(text).warnings.map(({ message }) => message)).toEqual([
      "the parameter a has no value. Pass one: --var a=VALUE",
    ]);
    expect(scriptsOf(text, {}, ["a"])).toEqual(["x ${a} ${b:-}"]);
  });

  test("a definition without a default keeps the default of the workflow", () => {
    const head =
      "defaults: { level: 3 }\nparameters: { definitions: { level: { type: Number }, size: { default: 4 } } }\n";
    expect(scriptsOf(`${head}commands: [{ shell: 'x \${level} \${size}' }]\n`)).toEqual([
      "x ${level:-3} ${size:-4}",
    ]);
  });

  test("a default is a variable of the environment, which env and the command line replace", () => {
    const text = "defaults: { A: 1, B: 2, C: 3 }\nenv: { B: own }\ncommands: [{ shell: a }]\n";
    expect(workflowOf(text, {}, ["C"]).env).toEqual({ A: "1", B: "own", C: "${C:-3}" });
  });
});
