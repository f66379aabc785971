import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { campaign } from "../../session/testing/campaign.js";
import { SandboxSpecError } from "../error.js";
import { Hosts, isPublic, targetOf } from "./hosts.js";

const allowed = (patterns: readonly string[], authority: string, options = {}): boolean => {
  const target = targetOf(authority);
  return target !== undefined && new Hosts(patterns, options).allows(target) !== undefined;
};

describe("the list of hosts", () => {
  it("[N1] a name is that name, a star the names below one, and ports are 80 and 443 unless one is given", () => {
    const table: readonly (readonly [pattern: string, authority: string, expected: boolean])[] = [
      ["example.com", "example.com:443", true],
      ["example.com", "EXAMPLE.com.:80", true],
      ["Example.COM.", "example.com:443", true],
      ["example.com", "example.com:8443", false],
      ["example.com", "www.example.com:443", false],
      ["example.com", "badexample.com:443", false],
      ["example.com", "example.com.evil.org:443", false],
      ["*.example.com", "www.example.com:443", true],
      ["*.example.com", "a.b.example.com:443", true],
      ["*.example.com", "example.com:443", false],
      ["*.example.com", "wwwexample.com:443", false],
      ["*.example.com:8443", "www.example.com:8443", true],
      ["*.example.com:8443", "www.example.com:443", false],
      ["example.com:8443", "example.com:8443", true],
      ["example.com:8443", "example.com:443", false],
      ["bücher.example", "xn--bcher-kva.example:443", true],
      ["127.0.0.1:8080", "127.0.0.1:8080", true],
      ["127.0.0.1:8080", "0x7f.1:8080", true],
      ["127.0.0.1:8080", "127.0.0.2:8080", false],
      ["127.0.0.1:8080", "localhost:8080", false],
      ["127.0.0.1:8080", "[::ffff:127.0.0.1]:8080", false],
      ["[::1]:8080", "[::1]:8080", true],
      ["[::1]:8080", "[0:0:0:0:0:0:0:1]:8080", true],
      ["localhost:8080", "localhost:8080", true],
      ["localhost:8080", "127.0.0.1:8080", false],
      ["8.8.8.8", "8.8.8.8:443", true],
      ["*.com", "8.8.8.8.com:443", true],
    ];
    for (const [pattern, authority, expected] of table)
      expect([pattern, authority, allowed([pattern], authority)]).toEqual([pattern, authority, expected]);
    expect(allowed([], "example.com:443")).toBe(false);
  });

  it("[N2] an address is refused unless it is listed, in whatever spelling", () => {
    const spellings = [
      "93.184.216.34",
      "0x5d.0xb8.0xd8.0x22",
      "1572395042",
      "0135.0270.0330.042",
      "93.12114978",
      "[::ffff:5db8:d822]",
      "[2606:2800:220:1:248:1893:25c8:1946]",
    ];
    for (const spelling of spellings) {
      expect([spelling, allowed(["example.com", "*.example.com", "*.com"], `${spelling}:443`)]).toEqual([
        spelling,
        false,
      ]);
    }
  });

  it("[N3] a name that leads to a private place is refused there, unless the place itself is listed", () => {
    const usable = (pattern: string, authority: string, address: string, options = {}): boolean => {
      const target = targetOf(authority);
      return target !== undefined && new Hosts([pattern], options).allows(target)?.(address) === true;
    };
    expect(usable("example.com", "example.com:443", "93.184.216.34")).toBe(true);
    expect(usable("example.com", "example.com:443", "127.0.0.1")).toBe(false);
    expect(usable("example.com", "example.com:443", "127.0.0.1", { private: true })).toBe(true);
    expect(usable("127.0.0.1:80", "127.0.0.1:80", "127.0.0.1")).toBe(true);
    expect(usable("10.0.0.5", "10.0.0.5:80", "10.0.0.5")).toBe(true);
    // Whatever a resolver makes of an address, only itself is meant.
    expect(usable("10.0.0.5", "10.0.0.5:80", "10.0.0.6")).toBe(false);
    expect(usable("localhost", "localhost:80", "::1")).toBe(true);
    expect(usable("localhost", "localhost:80", "10.0.0.1")).toBe(false);
    expect(usable("*.localhost", "x.localhost:80", "127.0.0.1")).toBe(false);
  });

  it("[N4] every special range is private: loopback, local, link, carrier, metadata, mapped, multicast", () => {
    const special = [
      ...[
        "0.0.0.0",
        "0.1.2.3",
        "10.255.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
      ],
      ...[
        "127.255.255.254",
        "169.254.169.254",
        "169.254.170.2",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
      ],
      ...[
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.7",
      ],
      ...["224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16"],
      ...[
        "::",
        "::1",
        "::ffff:8.8.8.8",
        "::ffff:127.0.0.1",
        "::8.8.8.8",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
      ],
      ...[
        "2001::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
      ],
      ...[
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "5f00::1",
        "2606:4700::1%lo",
        "nonsense",
        "",
        "1.2.3",
        "1.2.3.4.5",
      ],
    ];
    expect(special.filter(isPublic)).toEqual([]);
    const common = [
      "1.1.1.1",
      "8.8.8.8",
      "93.184.216.34",
      "100.63.255.255",
      "100.128.0.1",
      "172.15.0.1",
      "172.32.0.1",
      "198.17.0.1",
      "2606:4700::1111",
      "2a00:1450:4001:800::200e",
      "2001:4860:4860::8888",
    ];
    expect(common.filter((address) => !isPublic(address))).toEqual([]);
  });

  it("[N5] a pattern that could be misread is refused when it is written", () => {
    for (const pattern of [
      "",
      "*",
      "*.",
      "https://example.com",
      "example.com/path",
      "example.com:0",
      "example.com:70000",
      "example.com:",
      "a b",
      "*.1.2.3.4",
      "*.[::1]",
      "0x7f.1:80",
      "2130706433",
      "127.1",
      "user@example.com",
      "ex%61mple.com",
      "[::1",
      "::1",
      "a..b",
      "*.*.com",
      "www.*.com",
      "[fe80::1%25eth0]",
    ])
      expect(() => new Hosts([pattern]), pattern).toThrow(SandboxSpecError);
  });

  it("[N6] whatever is asked for: it is allowed only if its name, read as a browser reads it, is in the list", () => {
    const part = fc.constantFrom(
      "example.com",
      "www",
      "evil",
      ".",
      "@",
      ":",
      "443",
      "80",
      "8443",
      "%2e",
      "%00",
      "\0",
      "/",
      "\\",
      "?",
      "#",
      "[",
      "]",
      "::1",
      "127.0.0.1",
      "0x7f",
      "１２７",
      "。",
      " ",
      "\t",
      "\n",
      "EXAMPLE.COM",
      "ⓔxample.com",
      "xn--",
      "-",
      "_",
      "*",
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), (parts) => {
        const authority = parts.join("");
        const target = targetOf(authority);
        if (target === undefined) return;
        expect(target.host).toMatch(/^[a-z0-9._:-]+$/);
        const { hostname, port, username, password, pathname } = new URL(`http://${authority}`);
        expect([username, password, pathname]).toEqual(["", "", "/"]);
        expect(hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "")).toBe(target.host);
        expect(Number(port || 80)).toBe(target.port);
        if (new Hosts(["example.com"]).allows(target) !== undefined)
          expect([target.host, [80, 443].includes(target.port)]).toEqual(["example.com", true]);
      }),
      { numRuns: campaign(20_000) },
    );
  });
});
