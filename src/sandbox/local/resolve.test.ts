import { lookup } from "node:dns/promises";
import { hostname } from "node:os";
import { describe, expect, it } from "vitest";
import { resolve } from "./hosts.js";

describe("finding a name", () => {
  it("[N10] addresses and localhost are themselves, other names what the host's system says, also many at once", async () => {
    expect(await resolve("192.0.2.7")).toEqual(["192.0.2.7"]);
    expect(await resolve("::1")).toEqual(["::1"]);
    expect(await resolve("localhost")).toEqual(["127.0.0.1", "::1"]);
    expect(await resolve("a.localhost")).toEqual(["127.0.0.1", "::1"]);
    const expected = await lookup(hostname(), { all: true }).then(
      (all) => all.map(({ address }) => address).sort(),
      () => "nobody knows",
    );
    const many = await Promise.all(
      Array.from({ length: 9 }, () =>
        resolve(hostname()).then(
          (all) => [...all].sort(),
          () => "nobody knows",
        ),
      ),
    );
    expect(many).toEqual(many.map(() => expected));
  });
});
