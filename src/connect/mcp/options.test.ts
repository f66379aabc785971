import { expect, it } from "vitest";
import { McpOptionError, mcp } from "./index.js";

const peer = { name: "a", command: "true" } as const;

it.each<[string, () => unknown, RegExp]>([
  ["no name", () => mcp({ command: "true" } as never), /its name is not/],
  ["a long name", () => mcp({ name: "a".repeat(33), command: "true" }), /its name is not/],
  ["no way to it", () => mcp({ name: "a" } as never), /neither a command nor a url/],
  ["a misspelt field", () => mcp({ ...peer, arg: [] } as never), /did you mean "args"/],
  [
    "an option among the fields of the server",
    () => mcp({ ...peer, settings: {} } as never),
    /second argument: mcp\(\{ name: "a", … \}, \{ settings: … \}\)/,
  ],
  ["arguments that are none", () => mcp({ ...peer, args: [1] } as never), /not a list of texts/],
  [
    "an address that is none",
    () => mcp({ name: "a", url: "file:///etc/passwd" }),
    /not the address of a web server/,
  ],
  [
    "headers that are none",
    () => mcp({ name: "a", url: "http://a", headers: { a: 1 } } as never),
    /`headers`/,
  ],
  ["a misspelt option", () => mcp(peer, { dedline: 1 } as never), /did you mean "deadline"/],
  ["a deadline that is none", () => mcp(peer, { deadline: Number.NaN }), /`deadline`/],
  ["no limit", () => mcp(peer, { frame: Number.POSITIVE_INFINITY }), /`frame`/],
  ["a prefix that no provider takes", () => mcp(peer, { prefix: "a b" }), /`prefix`/],
  ["a pin that is none", () => mcp(peer, { pin: {} as never }), /`pin`/],
  ["an effect that is none", () => mcp(peer, { settings: { b: { effect: "rad" as never } } }), /effect/],
  ["sampling without a model", () => mcp(peer, { sampling: {} as never }), /no model/],
  ["settings of what is not taken", () => mcp(peer, { only: ["b"], settings: { c: {} } }), /`only`/],
])("[O1] %s is refused when it is made", (_name, make, words) => {
  expect(make).toThrow(McpOptionError);
  expect(make).toThrow(words);
});
