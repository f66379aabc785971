import { describe, expect, it } from "vitest";
import { checkSpec, limitsOf, secretsOf } from "../../sandbox/check-spec.js";
import { SandboxSpecError } from "../../sandbox/error.js";
import { type Capabilities, DEFAULT_LIMITS, type SandboxSpec } from "../../sandbox/spec.js";

const whole: Required<SandboxSpec> = {
  workspace: "/home/me/project",
  exclude: ["node_modules/**"],
  env: { LANG: "C", EMPTY: "" },
  secrets: ["API_TOKEN"],
  limits: { wall: 1, memory: 1, pids: 1, cpu: 1, file: 0, disk: 0, output: 0, scratch: 0 },
  network: {
    mode: "allow",
    hosts: ["example.com", "*.example.com", "example.com:8443", "127.0.0.1", "[::1]:80", "localhost"],
  },
  readable: ["/usr/share", "C:\\data"],
  image: "debian:12",
  ttl: 60_000,
  onExpire: "retain",
};

const some: Capabilities = {
  isolation: "virtual",
  limits: ["wall", "output"],
  network: ["none"],
  fork: "cow",
  suspend: "none",
  exact: false,
  stdin: true,
  background: false,
  pty: false,
  names: "text",
};

describe("checkSpec", () => {
  it("[K1] takes every setting there is and gives a frozen copy of it; nothing given is nothing asked for", () => {
    const checked = checkSpec(whole, "local");
    expect(checked).toEqual(whole);
    expect(checked).not.toBe(whole);
    for (const part of [checked, checked.env, checked.limits, checked.network, checked.exclude])
      expect(Object.isFrozen(part)).toBe(true);
    expect(checkSpec(undefined, "local")).toEqual({});
    expect(checkSpec({ exclude: [] }, "local")).toEqual({});
    expect(checkSpec({ ttl: undefined, limits: { wall: undefined } }, "local")).toEqual({ limits: {} });
    expect(checkSpec({ network: { mode: "allow", hosts: ["Example.COM"] } }, "local").network).toEqual({
      mode: "allow",
      hosts: ["example.com"],
    });
    const env = JSON.parse('{"__proto__":"x"}');
    expect(Object.keys(checkSpec({ env }, "local").env ?? {})).toEqual(["__proto__"]);
  });

  it.each([
    [{ limit: {} }, "limit", 'did you mean "limits"?'],
    [{ net: { mode: "none" } }, "net", "the settings are workspace"],
    [{ completely: 1 }, "completely", "the settings are workspace"],
    [{ limits: { walls: 1 } }, "limits.walls", 'did you mean "limits.wall"?'],
    [{ network: { mode: "allow", hosts: [], host: "x" } }, "network.host", 'did you mean "network.hosts"?'],
    [{ network: { mode: "ful" } }, "network.mode", 'did you mean "full"?'],
    [{ onExpire: "deleted" }, "onExpire", 'did you mean "delete"?'],
    [{ toString: 1 }, "toString", "the settings are"],
    [{ limits: { constructor: 1 } }, "limits.constructor", "the settings are"],
  ])("[K2] refuses a setting that there is not, and says which was meant: %j", (spec, setting, hint) => {
    const error = refusal(spec);
    expect(error.data.setting).toBe(setting);
    expect(error.hint).toContain(hint);
  });

  it.each([
    [null, "spec"],
    [[], "spec"],
    ["spec", "spec"],
    [{ workspace: 1 }, "workspace"],
    [{ workspace: "" }, "workspace"],
    [{ workspace: "a\0b" }, "workspace"],
    [{ exclude: "node_modules" }, "exclude"],
    [{ exclude: [""] }, "exclude[0]"],
    [{ env: ["A=1"] }, "env"],
    [{ env: { A: 1 } }, "env.A"],
    [{ env: { A: "a\0" } }, "env.A"],
    [{ env: { "A=B": "1" } }, "env.A=B"],
    [{ env: { "A\0": "1" } }, "env.A\0"],
    [{ env: { "": "1" } }, "env."],
    [{ secrets: ["A=B"] }, "secrets[0]"],
    [{ secrets: { A: "the value" } }, "secrets"],
    [{ limits: 5 }, "limits"],
    [{ limits: { wall: -1 } }, "limits.wall"],
    [{ limits: { wall: 0 } }, "limits.wall"],
    [{ limits: { wall: 2 ** 53 } }, "limits.wall"],
    [{ limits: { output: -1 } }, "limits.output"],
    [{ limits: { memory: 1.5 } }, "limits.memory"],
    [{ limits: { pids: Number.POSITIVE_INFINITY } }, "limits.pids"],
    [{ limits: { cpu: Number.NaN } }, "limits.cpu"],
    [{ limits: { disk: "1 GB" } }, "limits.disk"],
    [{ network: "none" }, "network"],
    [{ network: {} }, "network.mode"],
    [{ network: { mode: "some" } }, "network.mode"],
    [{ network: { mode: "none", hosts: ["example.com"] } }, "network.hosts"],
    [{ network: { mode: "allow" } }, "network.hosts"],
    ...[
      "https://example.com",
      "example.com/path",
      "*",
      "exa mple.com",
      "*.*.com",
      "a..b",
      "-a.com",
      "ex*.com",
    ]
      .concat(["example.com:0", "example.com:65536", "example.com:", "bücher.example", "", "a,b"])
      .map(
        (host) => [{ network: { mode: "allow", hosts: ["ok.example", host] } }, "network.hosts[1]"] as const,
      ),
    [{ readable: ["share"] }, "readable[0]"],
    [{ image: "" }, "image"],
    [{ ttl: 0 }, "ttl"],
    [{ ttl: -5 }, "ttl"],
    [{ ttl: 2 ** 53 }, "ttl"],
    [{ ttl: "1h" }, "ttl"],
    [{ onExpire: true }, "onExpire"],
  ] as const)("[K3] refuses what makes no sense, by the name of the setting: %j", (spec, setting) => {
    const error = refusal(spec);
    expect(error.data.setting).toBe(setting);
    expect(error.hint?.length).toBeGreaterThan(5);
    expect(JSON.parse(JSON.stringify(error.data))).toEqual(error.data);
    expect(JSON.stringify([error.message, error.hint, error.data])).not.toContain("the value");
  });

  it("[K4] refuses what the provider cannot honour, and says what it can", () => {
    expect(checkSpec({ limits: { wall: 5 }, network: { mode: "none" } }, "virtual", some)).toEqual({
      limits: { wall: 5 },
      network: { mode: "none" },
    });
    expect(checkSpec({}, "virtual", { ...some, limits: [], network: ["full"] })).toEqual({});
    const limit = refusal({ limits: { wall: 5, memory: 1024 } }, some);
    expect(limit.data).toMatchObject({ setting: "limits.memory", possible: ["wall", "output"] });
    expect(limit.message).toContain("a virtual sandbox cannot limit it");
    const network = refusal({ network: { mode: "full" } }, some);
    expect(network.data).toMatchObject({ setting: "network", possible: ["none"] });
    expect(network.hint).toContain('"none"');
    for (const isolation of ["none", "virtual", "namespace"] as const) {
      const image = refusal({ image: "debian:12" }, { ...some, isolation });
      expect(image.data).toMatchObject({ setting: "image", provider: "virtual", isolation });
      expect(image.hint).toContain('session.to("docker", { image: "debian:12" })');
    }
    for (const isolation of ["container", "vm"] as const)
      expect(checkSpec({ image: "debian:12" }, "docker", { ...some, isolation })).toEqual({
        image: "debian:12",
      });
    const folder = refusal({ readable: ["/usr/share"] }, some);
    expect(folder.data).toMatchObject({ setting: "readable", isolation: "virtual" });
    expect(folder.hint).toContain("importFiles");
    for (const isolation of ["none", "namespace", "container"] as const)
      expect(checkSpec({ readable: ["/usr"] }, "local", { ...some, isolation })).toEqual({
        readable: ["/usr"],
      });
    const suspended = refusal({ ttl: 5, onExpire: "suspend" }, some);
    expect(suspended.data).toMatchObject({ setting: "onExpire", possible: ["delete", "retain"] });
    for (const onExpire of ["delete", "retain"] as const)
      expect(checkSpec({ ttl: 5, onExpire }, "virtual", some)).toEqual({ ttl: 5, onExpire });
    expect(checkSpec({ onExpire: "suspend" }, "local", { ...some, suspend: "freeze" })).toEqual({
      onExpire: "suspend",
    });
    // Without capabilities there is nothing to hold it against.
    expect(checkSpec({ limits: { memory: 1024 } }, "virtual")).toEqual({ limits: { memory: 1024 } });
  });

  it("[K6] finds the value of every secret that is named, or says whose is missing", () => {
    const given = { TOKEN: "t0k3n", EMPTY: "", OTHER: "not asked for" };
    expect(secretsOf({ secrets: ["TOKEN", "EMPTY"] }, given)).toEqual({ TOKEN: "t0k3n", EMPTY: "" });
    expect(secretsOf({}, given)).toEqual({});
    for (const name of ["MISSING", "toString"])
      expect(() => secretsOf({ secrets: ["TOKEN", name] }, given)).toThrow(
        expect.objectContaining({ message: expect.stringContaining(name), code: "sandbox-spec-refused" }),
      );
  });

  it("[K5] fills in the default of every limit that is not given", () => {
    expect(limitsOf({})).toEqual(DEFAULT_LIMITS);
    expect(limitsOf({ limits: { wall: 5 } })).toEqual({ ...DEFAULT_LIMITS, wall: 5 });
  });
});

function refusal(spec: unknown, capabilities?: Capabilities): SandboxSpecError {
  try {
    checkSpec(spec, "virtual", capabilities);
  } catch (error) {
    if (error instanceof SandboxSpecError) return error;
    throw error;
  }
  throw new Error(`${JSON.stringify(spec)} was accepted`);
}
