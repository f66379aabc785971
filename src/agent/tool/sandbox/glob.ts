import { fitsWildcards } from "../../../util/index.js";

/** Alternatives of braces that are tried; a pattern with more is taken literally there. */
const ALTERNATIVES = 100;

/**
 * A test of paths: `*` and `?` within a name, `**` across names, `[a-z]`, `{a,b}`. A pattern without "/" is about the last
 * name of a path, wherever it is. No pattern takes more than the product of its length and the path's.
 */
export function globOf(pattern: string): (path: string) => boolean {
  const alternatives = expanded(pattern.replace(/^(\.?\/)+/, "")).map((one) => {
    const names = one.split("/").filter((name) => name !== "");
    return { anywhere: names.length === 1 && names[0] !== "**", names };
  });
  return (path) => {
    const names = path.split("/");
    return alternatives.some(({ anywhere, names: wanted }) =>
      fitsWildcards(wanted, anywhere ? names.slice(-1) : names, (one) => one === "**", matchesName),
    );
  };
}

/** Whether a text means more than itself as a glob. */
export function isGlob(text: string): boolean {
  return /[*?[{]/.test(text);
}

type Piece =
  | { readonly type: "any" | "one" }
  | { readonly type: "in"; readonly has: (character: string) => boolean };

const pieces = new Map<string, readonly Piece[]>();

function matchesName(pattern: string, name: string): boolean {
  let parts = pieces.get(pattern);
  if (parts === undefined) {
    parts = piecesOf([...pattern]);
    if (pieces.size > 1000) pieces.clear();
    pieces.set(pattern, parts);
  }
  return fitsWildcards(
    parts,
    [...name],
    (part) => part.type === "any",
    (part, character) => part.type === "one" || (part.type === "in" && part.has(character)),
  );
}

function piecesOf(characters: readonly string[]): readonly Piece[] {
  const found: Piece[] = [];
  const literal = (wanted: string | undefined): Piece => ({ type: "in", has: (one) => one === wanted });
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at];
    if (character === "*") found.push({ type: "any" });
    else if (character === "?") found.push({ type: "one" });
    else if (character === "\\" && at + 1 < characters.length) found.push(literal(characters[++at]));
    else if (character === "[") {
      const end = characters.indexOf("]", at + 2);
      if (end < 0) found.push(literal(character));
      else {
        found.push(classOf(characters.slice(at + 1, end)));
        at = end;
      }
    } else found.push(literal(character));
  }
  return found;
}

function classOf(inside: readonly string[]): Piece {
  const negated = inside[0] === "!" || inside[0] === "^";
  const rest = negated ? inside.slice(1) : inside;
  const ranges: [string, string][] = [];
  for (let at = 0; at < rest.length; at++) {
    const from = rest[at] as string;
    const to = rest[at + 1] === "-" ? rest[at + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return { type: "in", has: (one) => ranges.some(([from, to]) => one >= from && one <= to) !== negated };
}

/** The patterns that braces stand for. */
function expanded(pattern: string): readonly string[] {
  let all = [pattern];
  for (let round = 0; round < 10; round++) {
    const next = all.flatMap((one) => {
      const end = one.indexOf("}");
      const start = end < 0 ? -1 : one.lastIndexOf("{", end);
      if (start < 0) return [one];
      return one
        .slice(start + 1, end)
        .split(",")
        .map((part) => one.slice(0, start) + part + one.slice(end + 1));
    });
    if (next.length > ALTERNATIVES || next.every((one, place) => one === all[place])) break;
    all = next;
  }
  return all;
}
