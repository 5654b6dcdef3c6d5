/** Every option of a step means the same in setup, map and reduce: each is used in all three. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import {
  itemsJson,
  lines,
  mapOver,
  ONE_TRY,
  openFolder,
  openProject,
  type Project,
  plainMap,
  type WorkflowYaml,
} from "./project.ts";
import { isAlive } from "./workshop.ts";

const PHASES = ["setup", "map", "reduce"] as const;
type Phase = (typeof PHASES)[number];
type Step = Readonly<Record<string, unknown>>;

/** Puts the steps into all three phases, with one item and one attempt. */
function everywhere(steps: (phase: Phase) => readonly Step[], map: WorkflowYaml = {}): WorkflowYaml {
  return {
    setup: steps("setup"),
    map: plainMap(steps("map"), map),
    reduce: steps("reduce"),
    error_policy: ONE_TRY,
  };
}

const ITEM = itemsJson("a");
/** One line for each phase. */
const inAll = (line: string) => PHASES.map((phase) => `${phase} ${line}`);
/** Continues although the step failed, and writes down the failure. */
const letThrough = (note: string) => ({ steps: [{ shell: note }], max_attempts: 0, fail_workflow: false });

async function run(project: Project, workflow: WorkflowYaml): Promise<readonly string[]> {
  const { code, stderr } = await project.runWorkflow(workflow);
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`);
  return project.ledger;
}

describe("in every phase", () => {
  it("env of a step takes precedence over that of the workflow", async () => {
    const say = (phase: Phase) => [
      { shell: `echo ${phase} $OF_STEP $OF_FLOW >> $L`, env: { OF_STEP: `for-${phase}`, OF_FLOW: "mine" } },
      { shell: `echo ${phase} "$OF_STEP" $OF_FLOW >> $L` },
    ];
    const ledger = await run(openFolder(ITEM), { ...everywhere(say), env: { OF_FLOW: "all" } });
    expect(ledger).toEqual(PHASES.flatMap((phase) => [`${phase} for-${phase} mine`, `${phase}  all`]));
  });

  it("working_dir is where the step runs, and it cannot leave the folder", async () => {
    const project = openFolder({ ...ITEM, "deep/er/x.txt": "" });
    const steps = (phase: Phase) => [
      { shell: `echo ${phase} $(ls) >> $L`, working_dir: "deep/er" },
      {
        shell: `echo ${phase} outside >> $L`,
        working_dir: "../..",
        on_failure: letThrough(`echo ${phase} refused >> $L`),
      },
    ];
    expect(await run(project, everywhere(steps))).toEqual(
      PHASES.flatMap((phase) => [`${phase} x.txt`, `${phase} refused`]),
    );
  });

  it("when decides whether the step runs", async () => {
    const steps = (phase: Phase) => [
      { shell: "echo 7", capture: "seven", capture_format: "number" },
      { shell: `echo ${phase} yes >> $L`, when: "seven > 3" },
      { shell: `echo ${phase} no >> $L`, when: "seven > 30" },
    ];
    expect(await run(openFolder(ITEM), everywhere(steps))).toEqual(inAll("yes"));
  });

  it("capture keeps the output as text, JSON, lines, number or boolean for later steps", async () => {
    const captures = [
      { shell: "echo '  text  '", capture: "text" },
      { shell: `echo '{"a":[1,{"b":"deep"}]}'`, capture: "json", capture_format: "json" },
      { shell: "printf 'one\\ntwo\\n'", capture: "words", capture_format: "lines" },
      { shell: "echo 42", capture: "number", capture_format: "number" },
      { shell: "echo true", capture: "truth", capture_format: "boolean" },
    ];
    const say = (phase: Phase) => ({
      shell: `echo ${phase} "\${text}" \${json.a[1].b} \${words[1]} \${number} \${truth} >> $L`,
      when: "number + 1 == 43 && truth && size(words) == 2",
    });
    const ledger = await run(
      openFolder(ITEM),
      everywhere((phase) => [...captures, say(phase)]),
    );
    expect(ledger.map((line) => line.replace(/ +/g, " "))).toEqual(inAll("text deep two 42 true"));
  });

  it("output that does not match its capture_format fails the step", async () => {
    const steps = (phase: Phase) => [
      {
        shell: "echo many",
        capture: `n_${phase}`,
        capture_format: "number",
        on_failure: letThrough(`echo ${phase} \${error.type} >> $L`),
      },
    ];
    expect(await run(openFolder(ITEM), everywhere(steps))).toEqual(inAll("ValidationFailed"));
  });

  it("on_failure runs its steps, then the failed step again", async () => {
    const steps = (phase: Phase) => [
      {
        shell: `echo ${phase} try >> $L; test -e ${phase}.fixed || { echo missing >&2; exit 5; }`,
        on_failure: [
          {
            shell: `echo ${phase} handles \${error.exit_code} \${error.stderr} | head -1 >> $L; touch ${phase}.fixed`,
          },
        ],
      },
      { shell: `echo ${phase} next >> $L` },
    ];
    expect(await run(openFolder(ITEM), everywhere(steps))).toEqual(
      PHASES.flatMap((phase) => [
        `${phase} try`,
        `${phase} handles 5 missing`,
        `${phase} try`,
        `${phase} next`,
      ]),
    );
  });

  it("on_failure gives up after max_attempts, and the step has failed", async () => {
    const project = openFolder(ITEM);
    const step = {
      shell: "echo try >> $L; exit 5",
      on_failure: { steps: [{ shell: "echo handle >> $L" }], max_attempts: 2 },
    };
    const result = await project.runWorkflow({ map: plainMap([step]), error_policy: ONE_TRY });
    expect(result.code).toBe(3);
    expect(project.ledger).toEqual(["try", "handle", "try", "handle", "try"]);
    expect((await project.onlyLetter()).failure_history[0]?.exit_code).toBe(5);
  });

  it("on_success runs after the step, and its failure counts", async () => {
    const steps = (phase: Phase) => [
      { shell: `echo ${phase} step >> $L`, on_success: { shell: `echo ${phase} then >> $L` } },
      { shell: "false", on_success: [{ shell: "echo never >> $L" }], on_failure: letThrough("true") },
    ];
    const project = openFolder(ITEM);
    expect(await run(project, everywhere(steps))).toEqual(
      PHASES.flatMap((phase) => [`${phase} step`, `${phase} then`]),
    );
    const failing = [{ shell: "true", on_success: [{ shell: "exit 6" }] }];
    await project.runWorkflow({ map: plainMap(failing), error_policy: ONE_TRY });
    expect((await project.onlyLetter()).failure_history[0]?.exit_code).toBe(6);
  });

  it("on_exit_code has steps for single codes; another code is a failure", async () => {
    const steps = (phase: Phase) => [
      { shell: "exit 4", on_exit_code: { 4: { shell: `echo ${phase} four >> $L` } } },
      {
        shell: "exit 5",
        on_exit_code: { 4: { shell: "true" } },
        on_failure: letThrough(`echo ${phase} five >> $L`),
      },
    ];
    expect(await run(openFolder(ITEM), everywhere(steps))).toEqual(
      PHASES.flatMap((phase) => [`${phase} four`, `${phase} five`]),
    );
  });

  it("retry is the number of attempts of a step", async () => {
    const retry = { max_attempts: 3, backoff: "fixed", initial_delay: "1ms" };
    const steps = (phase: Phase) => [
      { shell: `echo ${phase} x >> $L; test $(grep -c ${phase} $L) -ge 3`, retry },
      {
        shell: `echo ${phase} y >> $L; false`,
        retry: { ...retry, max_attempts: 2 },
        on_failure: letThrough("true"),
      },
    ];
    expect(await run(openFolder(ITEM), everywhere(steps))).toEqual(
      PHASES.flatMap((phase) => ["x", "x", "x", "y", "y"].map((word) => `${phase} ${word}`)),
    );
  });

  it("timeout ends the step with all its processes", async () => {
    const steps = (phase: Phase) => [
      {
        shell: "sleep 300 & echo $! >> pids; sleep 300",
        timeout: "1s",
        on_failure: letThrough(`echo ${phase} \${error.type} >> $L`),
      },
    ];
    const project = openFolder(ITEM);
    expect(await run(project, everywhere(steps))).toEqual(inAll("Timeout"));
    const pids = lines(project.get("pids")).map(Number);
    expect(pids).toHaveLength(3);
    await until("no grandchild is left", () => !pids.some(isAlive));
  });

  it("validate asks for a score, and on_incomplete helps until the threshold is reached", async () => {
    const steps = (phase: Phase) => [
      {
        shell: `echo 1 > ${phase}.done`,
        validate: {
          shell: `n=$(wc -l < ${phase}.done); echo "{\\"score\\": $((n * 40)), \\"missing\\": [\\"part $n\\"]}"`,
          threshold: 80,
          on_incomplete: {
            steps: [
              {
                shell: `echo ${phase} \${validation.score} \${validation.missing[0]} >> $L; echo 1 >> ${phase}.done`,
              },
            ],
            max_attempts: 3,
          },
        },
      },
    ];
    expect(await run(openFolder(ITEM), everywhere(steps))).toEqual(inAll("40 part 1"));
  });

  it("validate below its threshold fails the step, and the letter has the gaps", async () => {
    const project = openFolder(ITEM);
    const validate = { shell: `echo '{"score": 79, "missing": ["the tests"]}'`, threshold: 80 };
    await project.runWorkflow({ map: plainMap([{ shell: "true", validate }]), error_policy: ONE_TRY });
    const [failure] = (await project.onlyLetter()).failure_history;
    expect(failure).toMatchObject({ error_type: "ValidationFailed" });
    expect(failure?.error_message).toContain("79 % complete, but 80 % is required; missing: the tests");
  });

  it("write_file writes a template with its mode, and nothing outside", async () => {
    const project = openFolder(ITEM);
    const steps = (phase: Phase) => [
      { shell: "echo it\\'s", capture: "word" },
      { write_file: { path: `out/${phase}.txt`, content: "${word} & ${env.HOME}\n", mode: "0640" } },
      {
        write_file: { path: `../${phase}-escaped.txt`, content: "x" },
        on_failure: letThrough(`echo ${phase} refused >> $L`),
      },
    ];
    expect(await run(project, everywhere(steps))).toEqual(inAll("refused"));
    for (const phase of PHASES) {
      expect(project.get(`out/${phase}.txt`)).toBe(`it's & ${project.home}\n`);
      expect(existsSync(project.path(`${phase}-escaped.txt`))).toBe(false);
    }
  });

  it("write_file does not follow a link out of the worktree", async () => {
    const project = openProject(ITEM);
    const outside = project.path("outside");
    const steps = [
      { shell: `mkdir -p ${outside}; ln -s ${outside} link` },
      { write_file: { path: "link/escaped.txt", content: "x" } },
    ];
    expect(await project.runJson({ map: mapOver(steps), error_policy: ONE_TRY })).toMatchObject({ dead: 1 });
    expect(existsSync(join(outside, "escaped.txt"))).toBe(false);
  });

  it("foreach runs its steps for each element of a list, of lines or of JSON", async () => {
    const steps = (phase: Phase) => [
      { shell: "printf 'l1\\nl2\\n'", capture: "found" },
      {
        foreach: {
          items: "${found}",
          steps: [{ shell: `echo ${phase} \${foreach.item} \${foreach.index} >> $L` }],
        },
      },
      {
        foreach: {
          items: [{ n: "j1" }, { n: "it's" }, { n: "too many" }],
          max_items: 2,
          steps: [{ shell: `echo ${phase} "\${foreach.item.n}" >> $L` }],
        },
      },
    ];
    expect(await run(openFolder(ITEM), everywhere(steps))).toEqual(
      PHASES.flatMap((phase) => ["l1 0", "l2 1", "j1", "it's"].map((word) => `${phase} ${word}`)),
    );
  });

  it("output_file has the output of the step", async () => {
    const project = openFolder(ITEM);
    const steps = (phase: Phase) => [
      { shell: `echo of ${phase}; echo not this >&2`, output_file: `${phase}.out` },
    ];
    await run(project, everywhere(steps));
    for (const phase of PHASES) expect(project.get(`${phase}.out`)).toBe(`of ${phase}\n`);
  });

  it("pitfall 5: a failing step fails the phase or the item: no later step runs", async () => {
    for (const phase of PHASES) {
      const project = openFolder(ITEM);
      const steps = [{ shell: "exit 3" }, { shell: "echo later >> $L" }];
      const workflow = { map: plainMap("true"), [phase]: phase === "map" ? plainMap(steps) : steps };
      const { code } = await project.runWorkflow({ ...workflow, error_policy: ONE_TRY });
      expect([phase, code]).toEqual([phase, phase === "map" ? 3 : 1]);
      expect(project.ledger).toEqual([]);
    }
  });
});

describe("the timeout of a phase", () => {
  it.each(["setup", "reduce", "merge"])(
    "is for all steps of %s together, and ends every process",
    async (phase) => {
      const project = openFolder(ITEM);
      const commands = [{ shell: "true" }, { shell: "sleep 300 & echo $! >> $L; wait" }];
      const { code, stderr } = await project.runWorkflow({
        map: plainMap("true"),
        [phase]: { commands, timeout: "1500ms" },
      });
      expect(code).toBe(1);
      expect(stderr).toContain(`The ${phase} phase failed at step 2 of 2`);
      expect(stderr).toContain("timed out after 1.5 s");
      await until("no grandchild is left", () => !isAlive(Number(project.ledger[0])));
    },
  );
});

describe("commit_required", () => {
  const COMMIT = "echo x >> work.txt; git add -A; git commit -q -m";

  it("is met by a commit of the step itself, in every phase", async () => {
    const project = openProject(ITEM);
    const step = (phase: Phase) => ({ shell: `${COMMIT} "of ${phase}"`, commit_required: true });
    const workflow = { setup: [step("setup")], map: mapOver([step("map")]), reduce: [step("reduce")] };
    expect(await project.runJson(workflow)).toMatchObject({ succeeded: 1 });
    expect(project.subjects()).toEqual(["of reduce", "of map", "of setup", "first"]);
  });

  it("is not met by an old commit, nor by one of an earlier step", async () => {
    const project = openProject(ITEM);
    const steps = [{ shell: `${COMMIT} earlier` }, { shell: "true", commit_required: true }];
    expect(await project.runJson({ map: mapOver(steps), error_policy: ONE_TRY })).toMatchObject({ dead: 1 });
    const letter = await project.onlyLetter();
    expect(letter.failure_history[0]).toMatchObject({ error_type: "CommitValidationFailed" });
    expect(project.subjects()).toEqual(["first"]);
  });

  it.each(["setup", "reduce"])("fails %s when nothing was committed", async (phase) => {
    const project = openProject(ITEM);
    const workflow = { map: mapOver("true"), [phase]: [{ shell: "true", commit_required: true }] };
    const { code, stderr } = await project.runWorkflow(workflow);
    expect(code).toBe(1);
    expect(stderr).toContain("made no commit, and commit_required is set");
  });

  it("without a repository is an error", async () => {
    const project = openFolder(ITEM);
    const { code, stderr } = await project.runWorkflow({
      map: plainMap([{ shell: "echo x >> $L", commit_required: true }]),
      error_policy: ONE_TRY,
    });
    expect(code).not.toBe(0);
    expect(stderr).toContain("commit_required");
    expect(project.ledger).toEqual([]);
  });
});

describe("the data of an item", () => {
  it("is one word for the shell, whatever it contains; raw opts out", async () => {
    const evil = `x'; touch hacked; echo "$(touch hacked2)" \`touch hacked3\` $HOME`;
    const project = openFolder(itemsJson({ id: "a", text: evil, cmd: "echo run >> $L" }));
    const steps = [
      { shell: 'printf "%s\\n" ${item.text} "in: ${item.text}" >> $L' },
      { shell: "${raw:item.cmd}" },
    ];
    expect(await run(project, { map: plainMap(steps) })).toEqual([evil, `in: ${evil}`, "run"]);
    expect(["hacked", "hacked2", "hacked3"].filter((name) => existsSync(join(project.top, name)))).toEqual(
      [],
    );
  });

  it("fills ${item}, ${item_id}, ${index} and defaults", async () => {
    const project = openFolder(itemsJson({ id: "a", list: [{ x: "deep" }] }, { id: "b", list: [] }));
    const shell = "echo ${index} ${item_id} ${item.list[0].x:-none} ${item} >> $L";
    await run(project, { map: plainMap(shell, { max_parallel: 1 }) });
    expect(project.ledger).toEqual([
      '0 a deep {"id":"a","list":[{"x":"deep"}]}',
      '1 b none {"id":"b","list":[]}',
    ]);
  });

  it("that lacks a field of a template fails only that item", async () => {
    const project = openFolder(itemsJson({ id: "a", n: 1 }, { id: "b" }));
    const result = await project.runWorkflow({
      map: plainMap("echo ${item.n} >> $L"),
      error_policy: ONE_TRY,
    });
    expect(result.code).toBe(3);
    expect(project.ledger).toEqual(["1"]);
    expect((await project.onlyLetter()).failure_history[0]?.error_message).toContain("item.n");
  });
});

describe("the log of a phase", () => {
  it("has the output of its steps", async () => {
    const project = openFolder(ITEM);
    const { job_id } = await project.runJson(everywhere((phase) => [{ shell: `echo heard in ${phase}` }]));
    for (const phase of ["setup", "reduce"]) {
      const log = readFileSync(project.path(`redrive/logs/${job_id}/${phase}.log`), "utf8");
      expect(log).toContain(`heard in ${phase}\n`);
    }
    expect((await project.do("logs", job_id, "a")).stdout).toContain("heard in map\n");
  });
});
