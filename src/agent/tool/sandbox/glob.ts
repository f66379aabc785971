import { fitsWildcards } from "../../../util/index.js";

/** Alternatives of braces that are tried; a pattern with more is taken literally there. */
const ALTERNATIVES = 100;

/** A test of paths: `*`, `?`, `**`, `[a-z]`, `{a,b}`; without "/", of the last name. Time is bounded. */
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

/** A test of one character; "*" stands for any number of them. */
type Piece = "*" | ((character: string) => boolean);

const pieces = new Map<string, readonly Piece[]>();

function matchesName(pattern: string, name: string): boolean {
  let parts = pieces.get(pattern);
  if (parts === undefined) {
    parts = piecesOf(pattern);
    if (pieces.size > 1000) pieces.clear();
    pieces.set(pattern, parts);
  }
  return fitsWildcards(
    parts,
    [...name],
    (part) => part === "*",
    (part, character) => part !== "*" && part(character),
  );
}

function piecesOf(pattern: string): readonly Piece[] {
  return [...pattern.matchAll(/\\(.)|\[(.[^\]]*)\]|(.)/gsu)].map(([, escaped, inside, plain]) => {
    if (inside !== undefined) return classOf(inside);
    if (plain === "*") return "*";
    return plain === "?" ? () => true : (one) => one === (escaped ?? plain);
  });
}

function classOf(inside: string): Piece {
  const [, negation, rest = ""] = /^([!^]?)(.*)$/s.exec(inside) ?? [];
  const ranges = [...rest.matchAll(/(.)(?:-(.))?/gsu)];
  return (one) => ranges.some(([, from = "", to = from]) => one >= from && one <= to) === (negation === "");
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
