import { digestOf } from "../../session/index.js";

/** Under these names threads are kept unless somebody says otherwise. */
export const PREFIX = "langgraph/";

/** Longer ones would leave no room for the names of branches. */
const LONGEST = 120;

/** The name that a thread is kept under. Any two threads have two names, and none is another one's branch. */
export function nameOfThread(thread: string, prefix: string): string {
  const plain = [...thread]
    .map((character) =>
      /^[\p{L}\p{N}\p{P}\p{S} ]$/u.test(character) && !/[@%~]/.test(character) ? character : coded(character),
    )
    .join("");
  if (plain !== "" && plain.length <= LONGEST) return `${prefix}${plain}`;
  return `${prefix}~${digestOf(Buffer.from(JSON.stringify(thread))).slice(0, 32)}`;
}

/** The thread of a name; undefined where the name is a digest and only the record knows. */
export function threadOfName(name: string, prefix: string): string | undefined {
  const plain = name.slice(prefix.length);
  if (plain.startsWith("~")) return undefined;
  return plain.replace(/%([0-9a-f]+);/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

function coded(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `%${character.charCodeAt(index).toString(16)};`,
  ).join("");
}
