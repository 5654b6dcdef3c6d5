/**
 * An offline reference of the API, generated from the OpenAPI document: plain HTML with one stylesheet and no
 * script, so that the server's strict content security policy applies to it, too.
 */
import { isJsonObject, type Json, type JsonObject, stringifyJson } from "../std/json.ts";

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly described: JsonObject;
}

export interface DocsPage {
  readonly html: string;
  readonly css: string;
}

/** Renders the document. `stylesheet` is the URL of the stylesheet as browsers see it. */
export function docsPage(document: JsonObject, stylesheet: string, specification: string): DocsPage {
  const operations = operationsOf(document);
  const tags = [...new Set(operations.map(({ described }) => tagOf(described)))];
  const info = objectAt(document, "info");
  const sections = tags.map((tag) => {
    const own = operations.filter(({ described }) => tagOf(described) === tag);
    return `<section id="${escaped(tag)}"><h2>${escaped(tag)}</h2>${own.map(operationHtml).join("")}</section>`;
  });
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(info.title)}</title>
<link rel="stylesheet" href="${escaped(stylesheet)}">
</head>
<body>
<nav aria-label="Parts of the API"><ul>${tags.map((tag) => `<li><a href="#${escaped(tag)}">${escaped(tag)}</a></li>`).join("")}</ul></nav>
<main>
<h1>${escaped(info.title)} <small>${escaped(info.version)}</small></h1>
<p>${escaped(info.description)}</p>
<p>The same as an <a href="${escaped(specification)}">OpenAPI document</a>.</p>
${sections.join("\n")}
<section id="documents"><h2>Documents</h2>${schemasHtml(document)}</section>
</main>
</body>
</html>
`;
  return { html, css: CSS };
}

function operationsOf(document: JsonObject): readonly Operation[] {
  return Object.entries(objectAt(document, "paths")).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      const described = isJsonObject(methods) ? methods[method] : undefined;
      return isJsonObject(described) ? [{ method: method.toUpperCase(), path, described }] : [];
    }),
  );
}

function tagOf({ tags }: JsonObject): string {
  return Array.isArray(tags) ? String(tags[0]) : "other";
}

function operationHtml({ method, path, described }: Operation): string {
  const { operationId, summary, description } = described;
  const role = described["x-role"];
  return `<article id="${escaped(operationId)}">
<h3><span class="method ${method.toLowerCase()}">${method}</span> <code>${escaped(path)}</code></h3>
<p>${escaped(summary)}${role === undefined ? "" : ` <span class="role">${escaped(role)}</span>`}</p>
${description === undefined ? "" : `<p>${escaped(description)}</p>`}
${parametersHtml(described.parameters)}
${bodyHtml(described.requestBody)}
${responsesHtml(described.responses)}
</article>`;
}

function parametersHtml(parameters: unknown): string {
  if (!Array.isArray(parameters) || parameters.length === 0) return "";
  const rows = parameters.filter(isJsonObject).map((one) => {
    const where = one.required === true ? `${escaped(one.in)}, required` : escaped(one.in);
    return `<tr><td><code>${escaped(one.name)}</code></td><td>${where}</td><td>${typeText(one.schema)}</td><td>${escaped(one.description)}</td></tr>`;
  });
  return `<table><thead><tr><th>parameter</th><th>in</th><th>type</th><th>meaning</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

function bodyHtml(body: unknown): string {
  if (!isJsonObject(body)) return "";
  return Object.entries(objectAt(body, "content"))
    .map(([type, content]) => schemaHtml(`Body: ${type}`, isJsonObject(content) ? content.schema : undefined))
    .join("");
}

function responsesHtml(responses: unknown): string {
  if (!isJsonObject(responses)) return "";
  const list = Object.entries(responses).map(([status, response]) => {
    const { description, content } = isJsonObject(response) ? response : {};
    const bodies = Object.entries(isJsonObject(content) ? content : {})
      .filter(([type]) => type !== "application/problem+json")
      .map(([type, one]) => schemaHtml(type, isJsonObject(one) ? one.schema : undefined));
    return `<li><code>${escaped(status)}</code> ${escaped(description)}${bodies.join("")}</li>`;
  });
  return `<details><summary>Answers</summary><ul>${list.join("")}</ul></details>`;
}

function schemasHtml(document: JsonObject): string {
  return Object.entries(objectAt(objectAt(document, "components"), "schemas"))
    .map(([name, schema]) => `<div id="document-${escaped(name)}">${schemaHtml(name, schema)}</div>`)
    .join("");
}

function schemaHtml(title: string, schema: unknown): string {
  if (schema === undefined) return "";
  const name = referenceOf(schema);
  if (name !== undefined)
    return `<p>${escaped(title)}: <a href="#document-${escaped(name)}">${escaped(name)}</a></p>`;
  const text = stringifyJson(schema as Json, 2);
  return `<details><summary>${escaped(title)}</summary><pre>${escaped(text)}</pre></details>`;
}

function typeText(schema: unknown): string {
  if (!isJsonObject(schema)) return "";
  const { type, enum: values, items } = schema;
  const name = referenceOf(schema);
  if (name !== undefined) return `<a href="#document-${escaped(name)}">${escaped(name)}</a>`;
  if (Array.isArray(values)) return values.map((one) => `<code>${escaped(one)}</code>`).join(" ");
  if (type === "array") return `list of ${typeText(items)}`;
  return escaped(type);
}

function referenceOf(schema: unknown): string | undefined {
  const reference = isJsonObject(schema) ? schema.$ref : undefined;
  return typeof reference === "string" ? reference.split("/").at(-1) : undefined;
}

function objectAt(value: JsonObject, key: string): JsonObject {
  const found = value[key];
  return isJsonObject(found) ? found : {};
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Escapes a text for HTML. An absent text becomes empty. */
export function escaped(text: unknown): string {
  return String(text ?? "").replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? "");
}

const CSS = `:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; display: flex; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; border-right: 1px solid var(--line); box-sizing: border-box; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { display: block; padding: .15rem .5rem; }
main { padding: 1rem 2rem 4rem; max-width: 60rem; min-width: 0; }
article { border-top: 1px solid var(--line); padding: .5rem 0; scroll-margin-top: 1rem; }
h3 { font-size: 1rem; margin: .5rem 0; overflow-wrap: anywhere; }
.method { display: inline-block; min-width: 4rem; font-weight: 700; }
.role { border: 1px solid var(--line); border-radius: .25rem; padding: 0 .4rem; font-size: .85em; }
table { border-collapse: collapse; font-size: .9em; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); }
pre { overflow: auto; background: var(--soft); padding: .75rem; font-size: .85em; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; border: 0; } main { padding: 1rem; } }
`;
