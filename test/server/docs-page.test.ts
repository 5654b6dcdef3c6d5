/** The page to read the API offline, in the strict policy of the server. */
import { expect, test } from "vitest";
import { ROUTES } from "../../src/server/contract.ts";
import { serverKit } from "./kit.ts";

test("the page has every route, and needs nothing from elsewhere", async () => {
  const kit = await serverKit({ basePath: "/in", publicPath: "/out" });
  const page = await kit.send("GET", "/in/api/v1/docs");
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=UTF-8"]);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  const html = await page.text();
  for (const { id, summary } of Object.values(ROUTES)) {
    expect(html).toContain(`<article id="${id}">`);
    expect(html).toContain(summary.replaceAll('"', "&quot;"));
  }
  expect(html).not.toMatch(/<script|<style| style=| on\w+=|https?:\/\//);
  const [, stylesheet] = /<link rel="stylesheet" href="([^"]+)">/.exec(html) ?? [];
  expect(stylesheet).toBe("/out/api/v1/docs.css");
  const css = await kit.send("GET", "/in/api/v1/docs.css");
  expect([css.status, css.headers.get("content-type")]).toEqual([200, "text/css; charset=utf-8"]);
  expect(await css.text()).not.toMatch(/url\(|@import/);
  for (const [, target = ""] of html.matchAll(/href="#([^"]+)"/g)) expect(html).toContain(`id="${target}"`);
});
