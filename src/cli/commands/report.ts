/** `redrive report`: reports the results of a job, as the body of a pull request or for a person. */
import { writeFileSync } from "node:fs";
import { isStanding } from "../../item/job.ts";
import { refuseStanding, requireJob, requireLatestJob } from "../../queue/find-job.ts";
import { readReport, reportToJson } from "../../report/read-report.ts";
import { REPORT_FORMATS } from "../../report/report-facts.ts";
import { reportHtml, reportMarkdown } from "../../report/report-text.ts";
import { stringifyJson } from "../../std/json.ts";
import { argument, command } from "../command.ts";
import { EXIT, userError, WRITABLE_FILE } from "../exit-code.ts";
import { absolute, choice, path } from "../options.ts";

const report = command({
  summary: "Report what a job has done: items, changes, failures by cause, cost.",
  description: "In Markdown it is the body of a pull request.",
  examples: ["redrive report", "redrive report nightly --format html --output report.html"],
  arguments: {
    name: argument("[job]", "id or name (default: the latest job of this folder, else the latest)"),
  },
  options: {
    format: choice("-f, --format <format>", "the format (default: md)", REPORT_FORMATS),
    output: path("-o, --output <file>", "write the report to this file instead of printing it"),
  },
  run: async (context, { name: given, format, output }) => {
    const { cwd } = context.terminal;
    const found = await context.withStore(async (engine) => {
      const job = await requireJob(engine, given ?? (await requireLatestJob(engine, cwd)).id);
      if (isStanding(job)) refuseStanding(job);
      return readReport(engine, job);
    });
    const document = reportToJson(found);
    const text = () => {
      if (format === "json") return `${stringifyJson(document, 2)}\n`;
      return format === "html" ? reportHtml(found) : reportMarkdown(found);
    };
    if (output === undefined) return context.answer(document, text);
    try {
      writeFileSync(absolute(cwd, output), text());
    } catch (error) {
      throw userError("usage", `${output} cannot be written.`, WRITABLE_FILE, error);
    }
    return context.answer({ written: output }, () => `Wrote ${output}.\n`, EXIT.done);
  },
});

export const commands = { report };
