import { expect, it } from "vitest";
import type { Json } from "../../session/index.js";
import { definitionsIn } from "./definition.js";

const wants = (header: Json, type: Json = "string"): Json => ({ type, "x-mcp-header": header });

it.each<[string, Json, RegExp | undefined]>([
  ["a name", { properties: { a: wants("Region") } }, undefined],
  [
    "names further in",
    { properties: { a: { type: "object", properties: { b: wants("B", "integer") } } } },
    undefined,
  ],
  [
    "a word among values",
    { properties: { a: { type: "object", default: { "x-mcp-header": "" } } } },
    undefined,
  ],
  ["no name", { properties: { a: wants("") } }, /not the name of a header/],
  ["a number", { properties: { a: wants(7) } }, /not the name of a header/],
  ["a line break", { properties: { a: wants("A\r\nB") } }, /not the name of a header/],
  ["a colon", { properties: { a: wants("A:B") } }, /not the name of a header/],
  ["an object", { properties: { a: wants("A", "object") } }, /not a text, an integer or a boolean/],
  [
    "a number with a fraction",
    { properties: { a: wants("A", "number") } },
    /not a text, an integer or a boolean/,
  ],
  ["two of a name", { properties: { a: wants("A"), b: wants("a") } }, /two parameters/],
  ["an item of a list", { properties: { a: { type: "array", items: wants("A") } } }, /not every call/],
  ["one of several", { anyOf: [{ properties: { a: wants("A") } }] }, /not every call/],
  ["the schema itself", { "x-mcp-header": "A" }, /the schema itself/],
])("[E17] a tool that wants a parameter in a header: %s", (_, more, flaw) => {
  const inputSchema = { type: "object", ...(more as object) };
  const { tools, refused } = definitionsIn([{ name: "tool", inputSchema }]);
  expect(tools).toHaveLength(flaw === undefined ? 1 : 0);
  if (flaw !== undefined) expect(refused[0]?.reason).toMatch(flaw);
});
