import { Secrets as Concealed } from "../../runtime/index.js";
import type { Json } from "../../session/index.js";

/**
 * Knows what a server was given in confidence, and takes it out of what it says: in clear, and in the forms in which
 * programs pass such things on.
 */
export class Secrets {
  #values: { readonly [name: string]: string } = {};
  #concealed = new Concealed({});

  /** Learns values by their names. One that was another value before is still kept off the record. */
  add(values: { readonly [name: string]: string }): void {
    const more = Object.entries(values).flatMap(([name, value]) => {
      // What a header says before the secret itself is no secret, and the secret alone is one.
      const [, bare] = /^(?:Bearer|Basic|Token)\s+(.+)$/i.exec(value) ?? [];
      return bare === undefined ? [[name, value] as const] : [[name, value] as const, [name, bare] as const];
    });
    const known = new Set(Object.values(this.#values));
    const news = more.filter(([, value]) => value !== "" && !known.has(value));
    if (news.length === 0) return;
    const next: { [name: string]: string } = { ...this.#values };
    for (const [name, value] of news) next[freeName(name, next)] = value;
    this.#values = next;
    this.#concealed = new Concealed(next);
  }

  text(text: string): string {
    return this.#concealed.conceal(text).value;
  }

  json(value: Json): Json {
    return this.#concealed.conceal(value).value;
  }
}

function freeName(name: string, taken: { readonly [name: string]: string }): string {
  let free = name;
  for (let count = 2; Object.hasOwn(taken, free); count++) free = `${name}#${count}`;
  return free;
}
