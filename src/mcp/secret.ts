import type { Json } from "../session/index.js";

/** Shorter values are too common to be told from ordinary words. */
const SHORTEST = 6;
const HIDDEN = "[secret]";

/** Knows the values that were given to a server in confidence, and takes them out of what it says. */
export class Secrets {
  readonly #values = new Set<string>();

  add(values: Iterable<string>): void {
    for (const value of values) {
      if (value.length >= SHORTEST) this.#values.add(value);
      // What a header says before the secret itself is no secret, and the secret alone is one.
      const [, bare] = /^(?:Bearer|Basic|Token)\s+(.+)$/i.exec(value) ?? [];
      if (bare !== undefined && bare.length >= SHORTEST) this.#values.add(bare);
    }
  }

  text(text: string): string {
    let hidden = text;
    for (const value of this.#values) hidden = hidden.replaceAll(value, HIDDEN);
    return hidden;
  }

  json(value: Json): Json {
    if (this.#values.size === 0) return value;
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((inner) => this.json(inner as Json));
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [this.text(key), this.json(inner as Json)]),
    );
  }
}
