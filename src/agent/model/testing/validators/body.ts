/** A request body as it goes over the wire, and what is wrong with it. */
export type Body = { readonly [field: string]: unknown };
export type Item = { readonly [field: string]: unknown };

export function listOf(value: unknown): readonly Item[] {
  return Array.isArray(value) ? value : [];
}

export function isFilled(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

/** A lone half of a character: no UTF-8 can hold it, and providers answer 400. */
export function loneHalves(body: Body): string[] {
  const halves: string[] = [];
  JSON.stringify(body, (key, value: unknown) => {
    if (typeof value === "string" && !value.isWellFormed()) halves.push(`lone surrogate in ${key}`);
    return value;
  });
  return halves;
}

export function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
