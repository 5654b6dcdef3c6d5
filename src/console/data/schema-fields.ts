/**
 * Derives form fields from a JSON Schema. Properties that a form cannot show are entered as JSON. The server
 * validates everything.
 */
export interface FieldSpec {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly kind: "string" | "number" | "boolean" | "json";
  /** The allowed values, if the schema lists them. */
  readonly choices?: readonly string[];
  readonly isRequired: boolean;
}

interface Schema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly title?: string;
  readonly description?: string;
}

export function fieldsOf(schema: unknown): readonly FieldSpec[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties = {}, required = [] } = schema as Schema;
  return Object.entries(properties).map(([name, property]) => {
    const texts = property.enum?.filter((value) => typeof value === "string") ?? [];
    return {
      name,
      label: property.title ?? name,
      ...(property.description !== undefined && { hint: property.description }),
      kind: kindOf(property),
      ...(texts.length > 0 && { choices: texts }),
      isRequired: required.includes(name),
    };
  });
}

function kindOf({ type, enum: values }: Schema): FieldSpec["kind"] {
  if (type === "string" || values?.every((value) => typeof value === "string")) return "string";
  if (type === "integer" || type === "number") return "number";
  return type === "boolean" ? "boolean" : "json";
}
