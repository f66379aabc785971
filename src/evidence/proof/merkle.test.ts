import { hash } from "node:crypto";
import { expect, it } from "vitest";
import {
  consistencyPath,
  EMPTY_ROOT,
  Growth,
  inclusionPath,
  leafHash,
  nodeHash,
  rootOfPath,
  split,
} from "./merkle.js";
import { isConsistent } from "./testing/consistency.js";

/** The definition of RFC 6962, word for word: the slow one that the others are held against. */
function rootOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return hash("sha256", Buffer.alloc(0), "buffer");
  if (leaves.length === 1) return leaves[0] as Buffer;
  const middle = split(leaves.length);
  return nodeHash(rootOf(leaves.slice(0, middle)), rootOf(leaves.slice(middle)));
}

const leaves = Array.from({ length: 45 }, (_, index) => leafHash(Buffer.from(`entry ${index}`)));
const subtreeOf = (from: number, to: number): Buffer => rootOf(leaves.slice(from, to));
const grown = (size: number): Buffer => {
  const tree = new Growth();
  for (const leaf of leaves.slice(0, size)) tree.add(leaf);
  return tree.root();
};

it("[M1] roots are those of RFC 6962, at every size, and the known ones of Certificate Transparency", () => {
  for (let size = 0; size <= leaves.length; size++)
    expect(grown(size).toString("hex")).toBe(rootOf(leaves.slice(0, size)).toString("hex"));
  // The entries and roots that implementations of Certificate Transparency test with.
  const entries = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
  ];
  const roots = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
  ];
  const tree = new Growth();
  expect(tree.root()).toEqual(EMPTY_ROOT);
  for (const [index, entry] of entries.entries()) {
    tree.add(leafHash(Buffer.from(entry, "hex")));
    expect(tree.root().toString("hex")).toBe(roots[index]);
  }
});

it("[M2] every leaf's path leads to the root, and no other leaf, place, size or path does", () => {
  for (let size = 1; size <= leaves.length; size++) {
    const root = rootOf(leaves.slice(0, size));
    for (let index = 0; index < size; index++) {
      const leaf = leaves[index] as Buffer;
      const path = inclusionPath(index, size, subtreeOf);
      const leads = (at = index, of = size, from = leaf, way = path): boolean =>
        rootOfPath(from, at, of, way)?.equals(root) === true;
      expect(leads(), `${index} of ${size}`).toBe(true);
      const others = Array.from({ length: size }, (_, other) => other).filter((other) => other !== index);
      expect(others.filter((other) => leads(other))).toEqual([]);
      expect(leads(index, size, leaves[(index + 1) % size] as Buffer)).toBe(size === 1);
      expect(leads(index, size, leaf, [...path, leaf])).toBe(false);
      if (path.length > 0) expect(leads(index, size, leaf, path.slice(0, -1))).toBe(false);
      expect(leads(size, size)).toBe(false);
      expect(leads(-1)).toBe(false);
      for (const [place, one] of path.entries()) {
        const changed = Buffer.from(one);
        changed[place % 32] = (changed[place % 32] as number) ^ 1;
        expect(leads(index, size, leaf, path.with(place, changed))).toBe(false);
      }
    }
  }
});

it("[M3] consistency holds between all sizes, and with any other root, size or path it does not", () => {
  const most = 40;
  const roots = Array.from({ length: most + 1 }, (_, size) => rootOf(leaves.slice(0, size)));
  const wrong = leafHash(Buffer.from("wrong"));
  for (let earlier = 0; earlier <= most; earlier++)
    for (let size = earlier; size <= most; size++) {
      const path = consistencyPath(earlier, size, subtreeOf);
      const one = { size: earlier, root: roots[earlier] as Buffer };
      const other = { size, root: roots[size] as Buffer };
      expect(isConsistent(one, other, path), `${earlier} to ${size}`).toBe(true);
      expect(isConsistent({ ...one, root: wrong }, other, path)).toBe(false);
      if (earlier > 0) expect(isConsistent(one, { ...other, root: wrong }, path)).toBe(false);
      expect(isConsistent(one, other, [...path, wrong])).toBe(false);
      if (path.length > 0) {
        expect(isConsistent(one, other, path.slice(0, -1))).toBe(false);
        expect(isConsistent(one, other, path.with(0, wrong))).toBe(false);
        expect(isConsistent({ ...one, size: earlier + 1 }, other, path)).toBe(false);
      }
      if (earlier < size) expect(isConsistent(other, one, path)).toBe(false);
    }
});
