/** A workflow job on two machines: each has a clone of its own and a store in common, and the job's branch is on a git remote. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";

import { TcpProxy } from "../support/tcp-proxy.ts";
import { itemsJson, openProject, type Project } from "./project.ts";
import { EACH_ONCE, merges, serveGit, urlOf } from "./shared-git.ts";
import { newPostgresStore, type Summary } from "./workshop.ts";

interface Hosts {
  readonly project: Project;
  /** The options of commands on the second machine, which has its own clone and home. */
  readonly second: { readonly cwd: string; readonly env: Record<string, string> };
  readonly file: string;
  cutOff(): void;
  reconnect(): void;
}

/** Two machines. The connections of the second one to the store and to git can be cut. */
async function openHosts(workflow: (project: Project) => object): Promise<Hosts> {
  const project = openProject(itemsJson("a", "b", "c", "d"));
  const gitUrl = urlOf(await serveGit(project));
  const { url } = newPostgresStore();
  const proxies = [await TcpProxy.before(url), await TcpProxy.before(gitUrl)] as const;
  onTestFinished(async () => void (await Promise.all(proxies.map((proxy) => proxy.close()))));
  project.git("remote", "add", "origin", gitUrl);
  const clone = project.path("second");
  project.git("clone", "-q", gitUrl, clone);
  project.gitIn(clone, "remote", "set-url", "origin", proxies[1].through(gitUrl));
  for (const key of ["user.name", "user.email"])
    project.gitIn(clone, "config", key, project.git("config", key));
  const file = project.workflow(workflow(project) as Record<string, unknown>);
  const { env } = project.here;
  Object.assign(project, { storeUrl: url, isOnPostgres: true });
  return {
    project,
    second: {
      cwd: clone,
      env: {
        ...env,
        HOST: "second",
        REDRIVE_STORE: proxies[0].through(url),
        REDRIVE_HOME: join(project.path("second-home")),
      },
    },
    file,
    cutOff: () => {
      for (const proxy of proxies) proxy.refuse(true);
      for (const proxy of proxies) proxy.cutAll();
    },
    reconnect: () => {
      for (const proxy of proxies) proxy.refuse(false);
    },
  };
}

const gate = (project: Project, name: string) =>
  `while [ ! -e ${project.path(`open-${name}`)} ]; do sleep 0.02; done`;
const open = (project: Project, name: string) => project.write(`open-${name}`, "");

const work =
  'echo "$HOST ${item.id}" >> $L; echo "by $HOST" > ${item.id}.txt; git add -A; git commit -qm "by ${item.id}"'.replaceAll(
    "\\",
    "",
  );

describe("two clones work one job", () => {
  it("both take items, and the work of both is merged", async () => {
    const { project, second, file } = await openHosts((shop) => ({
      setup: [{ shell: "echo $HOST", capture: "made_on" }],
      map: {
        input: "items.json",
        id_field: "id",
        json_path: "$",
        remote: "origin",
        max_parallel: 1,
        agent_template: [
          { shell: `echo "begin $HOST" >> $L; ${gate(shop, "work")}` },
          { shell: `${work}; test \${setup.made_on} = first`.replaceAll("\\", "") },
        ],
      },
      reduce: [{ shell: "cat a.txt b.txt c.txt d.txt > all.txt" }],
    }));
    const first = { ...project.here, env: { ...project.here.env, HOST: "first" }, stdin: "" };
    const running = project.start(["run", file, "--json"], first);
    await running.until("the first machine works", () => project.ledger.includes("begin first"));
    const helper = project.start(["worker", "--job", "workflow", "-j", "1"], { ...second, stdin: "" });
    await helper.until("the second machine works", () => project.ledger.includes("begin second"));
    open(project, "work");
    const [ended, helped] = await Promise.all([running.ended, helper.ended]);
    expect([ended.code, helped.code]).toEqual([0, 0]);
    expect(JSON.parse(ended.stdout)).toMatchObject({
      status: "completed",
      succeeded: 4,
      attempts: 4,
    } satisfies Partial<Summary>);
    expect(merges(project)).toEqual(EACH_ONCE);
    const hosts = project.get("all.txt").trim().split("\n");
    expect([hosts.length, new Set(hosts)]).toEqual([4, new Set(["by first", "by second"])]);
    expect(project.git("ls-remote", "origin", "refs/heads/redrive/*")).toBe("");
  });

  it("a machine that is cut off until its lease has ended comes back: each item is merged once", async () => {
    const { project, second, file, cutOff, reconnect } = await openHosts((shop) => ({
      map: {
        input: "items.json",
        id_field: "id",
        json_path: "$",
        remote: "origin",
        max_parallel: 1,
        agent_template: [
          {
            shell:
              `echo "begin $HOST \${item.id}" >> $L; if [ $HOST = first ]; then ${gate(shop, "first")}; else trap "" TERM; ${gate(shop, "second")}; fi`.replaceAll(
                "\\",
                "",
              ),
          },
          { shell: work },
        ],
      },
      reduce: [{ shell: `echo reduce >> $L; ${gate(shop, "reduce")}` }],
    }));
    const first = { ...project.here, env: { ...project.here.env, HOST: "first" }, stdin: "" };
    const running = project.start(["run", file, "--json"], first);
    await running.until("the first machine works", () =>
      project.ledger.some((line) => line.startsWith("begin first")),
    );
    const helper = project.start(["worker", "--job", "workflow", "-j", "1", "--store-wait", "5m"], {
      ...second,
      stdin: "",
    });
    await helper.until("the second machine works", () =>
      project.ledger.some((line) => line.startsWith("begin second")),
    );
    const lost = project.ledger.find((line) => line.startsWith("begin second"))?.split(" ")[2] ?? "";
    cutOff();
    open(project, "first");
    await running.until("the first machine has done all items", () => project.ledger.includes("reduce"));
    expect(project.ledger).toContain(`first ${lost}`);
    open(project, "second");
    reconnect();
    const helped = await helper.ended;
    open(project, "reduce");
    const ended = await running.ended;
    expect([ended.code, helped.code]).toEqual([0, 0]);
    expect(JSON.parse(ended.stdout)).toMatchObject({
      status: "completed",
      succeeded: 4,
      dead: 0,
    } satisfies Partial<Summary>);
    expect(merges(project)).toEqual(EACH_ONCE);
    expect(project.get(`${lost}.txt`)).toBe("by first\n");
  }, 120_000);
});

/** Two clones on one machine with one store; the remote is a folder, whose hooks the test writes. */
function openClones(template: (project: Project) => readonly object[]) {
  const project = openProject(itemsJson("a", "b", "c", "d"));
  const shared = project.path("shared.git");
  project.git("clone", "-q", "--bare", project.top, shared);
  project.git("remote", "add", "origin", shared);
  const clone = (name: string, from: string) => {
    project.git("clone", "-q", from, project.path(name));
    for (const key of ["user.name", "user.email"])
      project.gitIn(project.path(name), "config", key, project.git("config", key));
    return { cwd: project.path(name), env: { ...project.here.env, HOST: name }, stdin: "" };
  };
  const map = {
    ...{ input: "items.json", id_field: "id", json_path: "$", remote: "origin", max_parallel: 1 },
    agent_template: template(project),
  };
  const hook = (name: string, script: string) => {
    project.write(`shared.git/hooks/${name}`, `#!/bin/sh\n${script}\n`);
    project.sh(`chmod +x ${project.path(`shared.git/hooks/${name}`)}`);
  };
  const first = { ...project.here, env: { ...project.here.env, HOST: "first" }, stdin: "" };
  return { project, shared, clone, hook, first, file: project.workflow({ map }) };
}

const gatedOnFirst = (project: Project) => [
  { shell: `echo "begin $HOST" >> $L; [ $HOST != first ] || { ${gate(project, "first")}; }` },
  { shell: work },
];

describe("a remote that makes trouble", () => {
  it("may reject a push of another clone: the item is merged by a later attempt", async () => {
    const { project, shared, clone, hook, first, file } = openClones(gatedOnFirst);
    const running = project.start(["run", file, "--json"], first);
    await running.until("the first machine works", () => project.ledger.includes("begin first"));
    hook(
      "pre-receive",
      `[ -e ${project.path("was-rejected")} ] || { touch ${project.path("was-rejected")}; exit 1; }`,
    );
    const helper = project.start(["worker", "--job", "workflow", "-j", "1"], clone("second", shared));
    await helper.until("its push was rejected", () => existsSync(project.path("was-rejected")));
    open(project, "first");
    const [ended, helped] = await Promise.all([running.ended, helper.ended]);
    expect([ended.code, helped.code]).toEqual([0, 0]);
    expect(merges(project)).toEqual(EACH_ONCE);
  });

  it("has the work of a worker that was killed before it could record it: each item is merged once", async () => {
    const { project, shared, clone, hook, first, file } = openClones(gatedOnFirst);
    const running = project.start(["run", file, "--json"], first);
    await running.until("the first machine works", () => project.ledger.includes("begin first"));
    hook(
      "post-receive",
      `[ -e ${project.path("pushed")} ] || { touch ${project.path("pushed")}; ${gate(project, "hook")}; }`,
    );
    const helper = project.start(["worker", "--job", "workflow", "-j", "1"], clone("second", shared));
    await helper.until("it has pushed", () => existsSync(project.path("pushed")));
    helper.signal("SIGKILL");
    await helper.ended;
    open(project, "hook");
    open(project, "first");
    const ended = await running.ended;
    expect(ended.code).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject({ succeeded: 4, dead: 0 } satisfies Partial<Summary>);
    expect(merges(project)).toEqual(EACH_ONCE);
  }, 120_000);

  it("of another repository is refused, because the work would never reach the job", async () => {
    const { project, clone, first, file } = openClones(gatedOnFirst);
    project.git("clone", "-q", "--bare", project.top, project.path("fork.git"));
    const running = project.start(["run", file, "--json"], first);
    await running.until("the first machine works", () => project.ledger.includes("begin first"));
    const other = await project.start(
      ["worker", "--job", "workflow"],
      clone("other", project.path("fork.git")),
    ).ended;
    expect([other.code, other.stderr]).toEqual([
      2,
      expect.stringContaining("does not have the branch redrive/"),
    ]);
    const outside = { ...project.here, cwd: project.path(""), stdin: "" };
    const nowhere = await project.start(["worker", "--job", "workflow"], outside).ended;
    expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining("Run the worker in a clone")]);
    open(project, "first");
    expect((await running.ended).code).toBe(0);
    expect(merges(project)).toEqual(EACH_ONCE);
  });
});

describe("a remote", () => {
  const map = { input: "items.json", remote: "origin", agent_template: [{ shell: "true" }] };

  it("that the clone does not have is refused before a job is made", async () => {
    const project = openProject(itemsJson("a"));
    const result = await project.runWorkflow({ map });
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining(`has no remote "origin"`)]);
    expect(await project.json("jobs")).toMatchObject({ jobs: [] });
  });

  it("that rejects the branch fails the run with its reason", async () => {
    const project = openProject(itemsJson("a"));
    project.git("clone", "-q", "--bare", project.top, project.path("shared.git"));
    project.write("shared.git/hooks/pre-receive", "#!/bin/sh\necho not allowed >&2; exit 1\n");
    project.sh(`chmod +x ${project.path("shared.git/hooks/pre-receive")}`);
    project.git("remote", "add", "origin", project.path("shared.git"));
    const result = await project.runWorkflow({ map });
    expect([result.code, result.stderr]).toEqual([
      5,
      expect.stringContaining("rejected the branch redrive/"),
    ]);
  });

  it("is needed for help from another clone", async () => {
    const project = openProject(itemsJson("a"));
    await project.runWorkflow({ map: { input: "items.json", agent_template: [{ shell: "false" }] } });
    const result = await project.do("worker", "--job", "workflow");
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining("remote: NAME")]);
  });
});
