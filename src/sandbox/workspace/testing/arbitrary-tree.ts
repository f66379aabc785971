import fc from "fast-check";
import type { Garden, Plant } from "./planted.js";

/** Few names, so that sides meet; some are odd. */
const name = fc.constantFrom("a", "b", "c", "é", "x y", "\udc80");
const line = fc.constantFrom("one\n", "two\n", "three\n", "four\r\n", "five\n");
const text = fc
  .tuple(fc.array(line, { maxLength: 6 }), fc.constantFrom("", "end"))
  .map(([lines, end]) => lines.join("") + end);
const binary = fc.constantFrom(Uint8Array.of(0, 1), Uint8Array.of(0xff, 0xfe), Uint8Array.of(0xc3, 0x28));
const content = fc.oneof({ weight: 5, arbitrary: text }, { weight: 1, arbitrary: binary });
const file = fc.record({ file: content, mode: fc.constantFrom(0o644, 0o755, 0o600) });
const link = fc.record({ link: fc.constantFrom("a", "../b", "/etc/passwd") });

const { garden: nested } = fc.letrec<{ plant: Plant; garden: Garden }>((tie) => ({
  plant: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 4, arbitrary: file },
    { weight: 1, arbitrary: link },
    {
      weight: 3,
      arbitrary: fc.record({ tree: tie("garden"), mode: fc.constantFrom(0o755, 0o700) }),
    },
  ),
  garden: fc.dictionary(name, tie("plant"), { maxKeys: 4, depthIdentifier: "tree" }),
}));

export const arbitraryGarden: fc.Arbitrary<Garden> = nested;

/** What someone did to some files. */
export type Deed =
  | { readonly do: "set"; readonly path: readonly string[]; readonly plant: Plant }
  | { readonly do: "delete"; readonly path: readonly string[] }
  | { readonly do: "mode"; readonly path: readonly string[]; readonly mode: number }
  | { readonly do: "line"; readonly path: readonly string[]; readonly at: number; readonly line: string };

const path = fc.array(name, { minLength: 1, maxLength: 3 });
export const arbitraryDeeds: fc.Arbitrary<readonly Deed[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("set" as const), path, plant: fc.oneof<fc.Arbitrary<Plant>[]>(file, link) }),
    fc.record({ do: fc.constant("set" as const), path, plant: nested.map((tree) => ({ tree })) }),
    fc.record({ do: fc.constant("delete" as const), path }),
    fc.record({ do: fc.constant("mode" as const), path, mode: fc.constantFrom(0o644, 0o755, 0o700) }),
    fc.record({ do: fc.constant("line" as const), path, at: fc.nat(6), line }),
  ),
  { maxLength: 6 },
);

/** The files after some deeds; those that lead nowhere do nothing. */
export function done(garden: Garden, deeds: readonly Deed[]): Garden {
  return deeds.reduce((after, deed) => changed(after, deed.path, deed), garden);
}

function changed(garden: Garden, [first, ...rest]: readonly string[], deed: Deed): Garden {
  if (first === undefined) return garden;
  const there = Object.hasOwn(garden, first) ? garden[first] : undefined;
  const { [first]: _there, ...others } = garden;
  if (rest.length > 0) {
    if (typeof there === "object" && "tree" in there)
      return { ...others, [first]: { ...there, tree: changed(there.tree, rest, deed) } };
    return garden;
  }
  if (deed.do === "delete") return others;
  if (deed.do === "set") return { ...others, [first]: deed.plant };
  if (typeof there !== "object" || there instanceof Uint8Array || "link" in there) return garden;
  if (deed.do === "mode") return { ...others, [first]: { ...there, mode: deed.mode } };
  if ("tree" in there || typeof there.file !== "string") return garden;
  const lines = there.file.split(/(?<=\n)/);
  lines.splice(deed.at % (lines.length + 1), 1, deed.line);
  return { ...others, [first]: { ...there, file: lines.join("") } };
}
