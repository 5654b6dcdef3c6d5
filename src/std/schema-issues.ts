/** The issues of a schema library, such as Zod, as one line of text. */

/** A problem of a value, in the form of Standard Schema, which Zod, Valibot and ArkType share. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

const ISSUES_MAX = 10;

/** Formats issues as `total: expected a number; vat: is missing`. */
export function issuesText(issues: readonly SchemaIssue[]): string {
  const shown = issues.slice(0, ISSUES_MAX).map((issue) => {
    const path = issuePath(issue);
    return path === "" ? issue.message : `${path}: ${issue.message}`;
  });
  const left = issues.length - shown.length;
  return [...shown, ...(left > 0 ? [`${left} more problems`] : [])].join("; ");
}

/** The path of an issue, for example `lines[2].total`; empty for the value itself. */
export function issuePath({ path }: SchemaIssue): string {
  return (path ?? [])
    .map((part) => (typeof part === "object" ? part.key : part))
    .reduce<string>((text, key) => {
      if (typeof key === "number") return `${text}[${key}]`;
      return text === "" ? String(key) : `${text}.${String(key)}`;
    }, "");
}
