import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { Session } from "openrath";
import { checkLine, digestOf, FORMAT, INLINE_BYTES, MAX_CHARACTERS, MAX_DEPTH } from "openrath/session";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { type Kind, kinds } from "../src/session/fact/field.js";
import { entries } from "../src/session/fact/table.js";
import { campaign } from "../src/session/testing/campaign.js";

const documentPath = fileURLToPath(new URL("../docs/format.md", import.meta.url));
const verifierPath = fileURLToPath(new URL("../tools/verify.py", import.meta.url));
const factFolder = new URL("../src/session/fact/", import.meta.url);
const page = refreshed(readFileSync(documentPath, "utf8"));

/** The secret of the examples. */
const secret = Uint8Array.from({ length: 32 }, (_, index) => index);
const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) console.warn("python3 is missing: the tests of tools/verify.py are skipped.");

describe("docs/format.md", () => {
  it("[R1] the ids in the document are those of its lines, and the lines are ours", () => {
    const lines = example("plain");
    expect(page).toContain(`< plain.jsonl\n${lines.map((line) => `${digestOf(line)}  -\n`).join("")}`);
    const at = (second: number, by: "user:ada" | "agent:planner" = "user:ada") =>
      ({ at: `2026-01-02T03:04:0${second}.000Z`, by }) as const;
    const trunk = Session.start(undefined, { nonce: "example", secret, ...at(0) });
    const bold = trunk.fork("bold", {
      why: "in case the small fix is not enough",
      ...at(2, "agent:planner"),
    });
    const merged = trunk.fork("small", at(1)).merge(bold, { adopt: "ours", ...at(3) });
    expect(lines).toEqual([...merged.history()].map((session) => session.line));
  });

  it("[R1] the salted and the erased example are true", () => {
    const [blob, start, erase] = example("salted").map((line) => JSON.parse(line)) as [Blob, Line, Line];
    const bytes = Buffer.from(blob.data, "base64");
    const salt = createHmac("sha256", secret).update("text/plain\0Fix issue 41.").digest();
    expect(bytes).toEqual(Buffer.concat([salt, Buffer.from("Fix issue 41.")]));
    expect(page).toContain(`Its salt is\n\`${salt.toString("hex")}\``);
    const digest = digestOf(bytes);
    expect(blob.blob).toBe(digest);
    expect(start.blobs).toEqual({ text: { digest, size: 45, media: "text/plain", salt: 32 } });
    const { by, at, why } = erase.fact;
    const erasure = JSON.stringify({
      erased: digest,
      fact: digestOf(example("salted")[2] as string),
      by,
      at,
      why,
    });
    expect(example("erased")).toEqual([erasure, ...example("salted").slice(1)]);
  });

  it("[R1] every example line is in normal form", () => {
    for (const line of [...example("plain"), ...example("salted"), ...example("erased")]) {
      if (line.startsWith('{"rath":')) checkLine(line);
      else expect(JSON.stringify(JSON.parse(line))).toBe(line);
    }
  });

  it("[R1] version and limits are those of the code", () => {
    expect(page).toContain(`version ${FORMAT}\n`);
    expect(page).toContain(`longer than ${INLINE_BYTES.toLocaleString("en-US")} bytes`);
    expect(page).toContain(`less than ${MAX_DEPTH} levels`);
    expect(page).toContain(`at most ${MAX_CHARACTERS / 1e6} million characters`);
    expect(readFileSync(verifierPath, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(256);
  });

  it("[R2] the table of fact types and the types are those of the code", () => {
    expect(page, "out of date: UPDATE_FORMAT=1 npx vitest run test/format.test.ts").toBe(withGenerated(page));
    for (const type of entries.keys()) expect(page).toContain(`\n| \`${type}\` | `);
  });
});

describe.skipIf(!hasPython)("tools/verify.py", () => {
  it("[R1] prints what the document says it prints", () => {
    for (const [, args, name, output] of page.matchAll(
      /^\$ python3 tools\/verify\.py (.*?)(\w+)\.jsonl\n([^$`]+)/gm,
    )) {
      const result = verify(example(name as string), ...(args as string).split(" ").filter(Boolean));
      expect(result).toEqual({ code: 0, stdout: output, stderr: "" });
    }
  });

  it("[R3] accepts what sessions write: forks, merges, long content, salted content", () => {
    for (const session of [branched(), branched({ inline: 0 }), Session.start()]) {
      const lines = exported(session);
      const facts = lines.filter((line) => line.startsWith('{"rath":')).length;
      const { code, stdout, stderr } = verify(lines, "--head", session.id);
      expect(stderr).toBe("");
      expect(code).toBe(0);
      expect(stdout).toBe(
        `ok: ${facts} facts, ${lines.length - facts} blobs, 0 erased, 1 heads\nhead ${session.id}\n`,
      );
    }
  });

  it("[R3] accepts any content a session accepts", () => {
    let session = Session.start('\u2028\u2029\u0085\u0000\u007f\\"/ \ud800 \udc00\ud800 \u{1f600}');
    session = session.append({
      type: "note",
      kind: "keys",
      ...JSON.parse('{"__proto__":1,"10":2,"9":3,"":4,"\\ud800":5}'),
    });
    session = session.append({
      type: "note",
      numbers: [1e21, 1e-7, 0.1, -0, 123456789012345680000, 5e-324, -1.5],
    });
    let deep: Deep = [];
    for (let level = 2; level < MAX_DEPTH; level++) deep = [deep];
    session = session.append({ type: "note", deep });
    for (const value of fc.sample(fc.jsonValue({ stringUnit: "binary", maxDepth: 5 }), {
      seed: 41,
      numRuns: campaign(600),
    })) {
      session = session.append({ type: "note", value: value as string });
    }
    expect(verify(exported(session), "--head", session.id)).toMatchObject({ code: 0, stderr: "" });
  });

  it("[R3] takes a long history in its stride", () => {
    let session = Session.start();
    for (let count = 1; count < 20_000; count++) session = session.append({ type: "note", count });
    expect(verify(exported(session)).stdout).toMatch(/^ok: 20000 facts/);
  });

  it("[R4] finds any flipped bit when the head is known", () => {
    const session = branched({ inline: 0 });
    const { status, stdout, stderr } = spawnSync("python3", ["-c", flipper, verifierPath, session.id], {
      input: text(exported(session)),
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({ flips: FLIPS, found: FLIPS });
  });

  it("[R5] finds each removed line, naming the line that misses it", () => {
    const session = branched();
    const lines = exported(session);
    for (const index of lines.keys()) {
      const { code, stderr } = verify(lines.toSpliced(index, 1), "--head", session.id);
      expect({ index, code }).toEqual({ index, code: 3 });
      expect(stderr).toMatch(
        index === lines.length - 1
          ? /^head '[0-9a-f]{64}' is not in this file/
          : /^line \d+: (parent|blob) [0-9a-f]{64} is /,
      );
    }
    expect(verify(lines.slice(0, -1)).code, "a cut-off end is only seen by who knows the head").toBe(0);
  });

  it("[R5] finds reordered, duplicated, blank and cut-off lines", () => {
    const session = branched();
    const lines = exported(session);
    const last = lines.at(-1) as string;
    expect(verify(lines.toReversed()).code).toBe(3);
    expect(verify([...lines.slice(0, -2), last, lines.at(-2) as string]).stderr).toMatch(
      `line ${lines.length - 1}: parent`,
    );
    expect(verify([...lines, last]).stderr).toBe(`line ${lines.length + 1}: this fact is there twice\n`);
    expect(verify([...lines, ""].join("\n\n")).stderr).toMatch(/^line 2: Expecting value\n/);
    expect(verify(lines.join("\r\n")).stderr).toMatch(/^line 1: not in normal form\n/);
    expect(verify(lines.join("\n")).code, "the last line may end with the file").toBe(0);
    for (const cut of [1, 2, 50, last.length - 1]) {
      expect(verify(lines.join("\n").slice(0, -cut)).stderr).toMatch(`line ${lines.length}: `);
    }
    expect(verify([]).stderr).toBe("there is no fact in this file\n");
  });

  it("[R6] finds a changed, a missing, a misplaced and a doubled blob", () => {
    const lines = exported(Session.start("x".repeat(INLINE_BYTES + 1)));
    const [blob, fact] = lines as [string, string];
    const { data, ...rest } = JSON.parse(blob);
    const other = JSON.stringify({
      ...rest,
      data: Buffer.from("y".repeat(INLINE_BYTES + 1)).toString("base64"),
    });
    expect(verify([other, fact]).stderr).toMatch("line 1: the bytes are not those that the digest names");
    expect(verify([fact]).stderr).toMatch(/^line 1: blob [0-9a-f]{64} is missing/);
    expect(verify([fact, blob]).stderr).toMatch(/^line 1: blob [0-9a-f]{64} is missing, below/);
    expect(verify([blob, blob, fact]).stderr).toMatch("line 2: twice");
    expect(verify([blob.replace(data, `${data}=`), fact]).code).toBe(3);
    expect(verify([blob, fact.replace(`"size":${INLINE_BYTES + 1 + 32}`, '"size":32')]).stderr).toMatch(
      "of another size",
    );
  });

  it("[R7] erased content verifies, and the report says who, when and why", () => {
    const { lines, digest, erasure, erase } = erasedSession();
    const told = `erased ${digest} by "user:ada" at "${erase.fact.at}" why "Ada \\u2028 asked \\ud800"`;
    expect(verify([erasure, ...lines], "--head", erase.id).stdout).toContain(
      `1 erased, 1 heads\nhead ${erase.id}\n${told}`,
    );
    expect(verify(lines).stdout, "the fact alone is enough").toContain(told);
    const unproven = verify([erasure, ...lines.slice(0, -1)]);
    expect(unproven).toMatchObject({ code: 3, stderr: expect.stringContaining("is not in this file") });
    const part = verify([erasure, ...lines.slice(0, -1)], "--partial");
    expect(part.code).toBe(0);
    expect(part.stdout).toContain(`${told} (said by ${erase.id}, which is not in this file)`);
    expect(verify(lines.slice(0, -1)).stderr).toMatch("is missing");
  });

  it("[R7] a long list of erased digests may itself be in a blob", () => {
    const { lines, digest, erase } = erasedSession(100);
    const erasure = JSON.stringify({
      erased: digest,
      fact: erase.id,
      by: "user:ada",
      at: erase.fact.at,
      why: "Ada \u2028 asked \ud800",
    });
    expect(verify([erasure, ...lines])).toMatchObject({ code: 0, stderr: "" });
  });

  it("[R7] an erasure line that says something else than its fact is refused", () => {
    const { lines, erasure } = erasedSession();
    const value = JSON.parse(erasure);
    for (const lie of [
      { by: "user:eve" },
      { at: "2020-01-01" },
      { why: "x" },
      { erased: "0".repeat(64) },
      { fact: digestOf(lines[0] as string) },
    ]) {
      expect(verify([JSON.stringify({ ...value, ...lie }), ...lines]).stderr).toMatch(
        "line 1: the fact it names does not say so",
      );
    }
  });

  it("[R8] keeps unknown fact types and refuses unknown versions, as the library does", () => {
    const fact = '"parents":[],"fact":{"type":"quantum-leap","at":"2026-01-02","by":"user","far":true}}';
    checkLine(`{"rath":1,${fact}`);
    expect(verify([`{"rath":1,${fact}`]).code).toBe(0);
    expect(() => checkLine(`{"rath":2,${fact}`)).toThrow("newer");
    expect(verify([`{"rath":2,${fact}`]).stderr).toMatch(
      "line 1: not a fact, blob or erasure line of format 1",
    );
  });

  it("[R9] refuses what the library refuses: other spellings and other shapes", () => {
    const id = "a".repeat(64);
    const line = (parents: string, fact: string, rest = "") =>
      `{"rath":1,"parents":${parents}${rest},"fact":{"type":"note","at":"2026-01-02","by":"user"${fact}}}`;
    const ref = (fields: object) =>
      `,"blobs":${JSON.stringify({ x: { digest: id, size: 40, media: "text/plain", ...fields } })}`;
    const refused = [
      line("[]", ',"a":1,"a":2'),
      line("[]", ',"a": 1'),
      line("[]", ',"a":"\\/"'),
      line("[]", ',"a":"\\u0041"'),
      line("[]", ',"a":"\\uD800"'),
      line("[]", ',"a":"\\u000a"'),
      line("[]", ',"a":"\\ud83d\\ude00"'),
      line("[]", ',"a":NaN'),
      line("[]", ',"a":[1,]'),
      line(`["${id}","${id}"]`, ""),
      line(`["${id.toUpperCase()}"]`, ""),
      line(`["${id.slice(1)}"]`, ""),
      line(`"${id}"`, ""),
      line("[]", "", ',"blobs":{}'),
      line("[]", "", ',"blobs":[]'),
      line("[]", "", ref({ size: -1 })),
      line("[]", "", ref({ salt: 41 })),
      line("[]", "", ref({ media: "image/png" })),
      line("[]", "", ref({ digest: "x" })),
      line("[]", ',"x":1', ref({})),
      line("[]", "").replace(',"by":"user"', ""),
      line("[]", "").replace('"rath":1', '"rath":"1"'),
      line("[]", "").replace('"rath":1,"parents":[]', '"parents":[],"rath":1'),
      line("[]", "").replace("}}", '},"more":1}'),
      `${line("[]", "")} `,
      `\ufeff${line("[]", "")}`,
      "[]",
      "null",
      "{}",
    ];
    checkLine(line("[]", ""));
    for (const bad of refused) {
      expect(() => checkLine(bad), bad).toThrow("not a record line");
      const { code, stderr } = verify([line("[]", ""), bad], "--partial");
      expect({ bad, code }).toEqual({ bad, code: 3 });
      expect(stderr).toMatch(/^line 2: /);
    }
  });

  it("[R9] never crashes: bytes that are no text, endless nesting, endless digits", () => {
    for (const bad of [
      Buffer.from([0xff, 0xfe, 0x0a]),
      Buffer.from([0xed, 0xa0, 0x80]),
      "[".repeat(100_000),
      "9".repeat(10_000),
      '{"blob":1,"data":2}',
      '{"blob":"","data":"\u00e9"}',
    ]) {
      const { code, stderr } = verify(bad);
      expect(code).toBe(3);
      expect(stderr).toMatch(/^line 1: /);
      expect(stderr).not.toContain("Traceback");
    }
  });

  it("[R9] exits with 1 when it was called wrongly or cannot read", () => {
    for (const args of [["--nonsense"], ["/does/not/exist"], ["a", "b"]]) {
      const { status, stderr } = spawnSync("python3", [verifierPath, ...args], {
        encoding: "utf8",
        input: "",
      });
      expect(status).toBe(1);
      expect(stderr).toMatch(/^verify\.py: /);
    }
  });

  it("[R5] a part of a record verifies when it is called partial, in order nonetheless", () => {
    const lines = exported(Session.start().fork("a").fork("b"));
    expect(verify(lines.slice(1)).stderr).toMatch(/^line 1: parent [0-9a-f]{64} is not above it\n$/);
    expect(verify(lines.slice(1), "--partial")).toMatchObject({ code: 0, stderr: "" });
    expect(verify(lines.slice(1).toReversed(), "--partial").stderr).toMatch(
      /^line 1: parent [0-9a-f]{64} is not above it\n$/,
    );
  });
});

/** Spread over the whole record. */
const FLIPS = campaign(2_000);
/** Runs the verifier on many damaged copies in one process: starting Python costs more than verifying. */
const flipper = `
import contextlib, io, json, sys
path, head = sys.argv[1:]
program = compile(open(path).read(), path, "exec")
sound, found = sys.stdin.buffer.read(), 0
for flip in range(${FLIPS}):
    at = flip * len(sound) // ${FLIPS}
    damaged = sound[:at] + bytes([sound[at] ^ 1 << flip % 8]) + sound[at + 1:]
    sys.stdin, sys.argv = io.TextIOWrapper(io.BytesIO(damaged)), [path, "--head", head]
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()): exec(program, {"__name__": "__main__"})
    except SystemExit as end: found += end.code == 3
print(json.dumps({"flips": ${FLIPS}, "found": found}))
`;

type Deep = readonly Deep[];
type Blob = { readonly blob: string; readonly data: string };
type Line = { readonly blobs: unknown; readonly fact: { readonly [field: string]: unknown } };

/** An export as a store makes it: each blob once, before the first line that needs it. */
function exported(session: Session): string[] {
  const seen = new Set<string>();
  const lines: string[] = [];
  for (const step of session.history()) {
    for (const { ref, bytes } of step.blobs()) {
      if (!seen.has(ref.digest))
        lines.push(JSON.stringify({ blob: ref.digest, data: Buffer.from(bytes).toString("base64") }));
      seen.add(ref.digest);
    }
    lines.push(step.line);
  }
  return lines;
}

function branched(options: { inline?: number } = {}): Session {
  const long = "All work and no play. ".repeat(300);
  const trunk = Session.start("Fix issue 41.", options).to("local").say(long);
  const small = trunk
    .fork("small")
    .say("a")
    .append({ type: "note", list: [long, 1.5, null] });
  const bold = trunk.fork("bold", { why: "to be sure" }).say(long).say("b");
  return small.merge(bold, { adopt: "ours" }).merge(trunk.fork("late").say("c")).fork("end");
}

/** A record whose first content was erased, and the erasure line for it. */
function erasedSession(others = 0) {
  const start = Session.start("secret", { inline: 0 });
  const [blob] = exported(start).map((line) => JSON.parse(line)) as [Blob];
  const digests = [blob.blob, ...Array.from({ length: others }, (_, index) => digestOf(String(index)))];
  const why = "Ada \u2028 asked \ud800";
  const erase = start.append({ type: "content-erase", digests, why, by: "user:ada" });
  const erasure = JSON.stringify({
    erased: blob.blob,
    fact: erase.id,
    by: "user:ada",
    at: erase.fact.at,
    why,
  });
  return { lines: exported(erase).slice(1), digest: blob.blob, erasure, erase };
}

function verify(record: readonly string[] | string | Buffer, ...args: string[]) {
  const input = Array.isArray(record) ? text(record) : (record as string | Buffer);
  // The strictest terminal there is: whatever stands in a record, printing must not fail.
  const env = { ...process.env, LC_ALL: "C", PYTHONIOENCODING: "ascii", PYTHONUTF8: "0" };
  const { status, stdout, stderr } = spawnSync("python3", [verifierPath, ...args], {
    input,
    env,
    encoding: "utf8",
  });
  return { code: status, stdout, stderr };
}

function text(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

/** The lines of an example in the document. */
function example(name: string): string[] {
  const block = page.split(`\n\`\`\`jsonl ${name}\n`)[1]?.split("\n```\n")[0];
  if (block === undefined) throw new Error(`docs/format.md has no example called "${name}"`);
  return block.split("\n");
}

/** The document, its generated parts written anew when that was asked for. */
function refreshed(document: string): string {
  if (process.env.UPDATE_FORMAT === undefined) return document;
  const fresh = withGenerated(document);
  writeFileSync(documentPath, fresh);
  return fresh;
}

function withGenerated(document: string): string {
  const types = readFileSync(new URL("value.ts", factFolder), "utf8").split("\n\n").slice(1).join("\n\n");
  const parts = { facts: factTables(), kinds: kindList(), types: `\`\`\`ts\n${types.trimEnd()}\n\`\`\`` };
  return Object.entries(parts).reduce((result, [name, part]) => {
    const [before, after] = [result.split(`<!-- ${name} -->`)[0], result.split(`<!-- /${name} -->`)[1]];
    return `${before}<!-- ${name} -->\n${part}\n<!-- /${name} -->${after}`;
  }, document);
}

/** A table for each family, and below it what the comments say about single fields. */
function factTables(): string {
  const families = familiesOfSource();
  const types = [...families.values()].flatMap((family) => [...family.types.keys()]);
  expect(types.toSorted(), "each type belongs to one family").toEqual([...entries.keys()].toSorted());
  return [...families]
    .map(([name, { comment, types }]) => {
      const rows = [...types].map(([type, { comment: what }]) => {
        const { by, fields } = entries.get(type) as NonNullable<ReturnType<typeof entries.get>>;
        const list = Object.entries(fields).map(([field, rule]) => fieldText(field, rule));
        return `| \`${type}\` | ${what} | ${by} | ${list.join(", ")} |`;
      });
      const notes = [...types].flatMap(([type, { fields }]) =>
        [...fields].map(([field, note]) => `- \`${type}\`, \`${field}\`: ${note}`),
      );
      return [
        `### ${name[0]?.toUpperCase()}${name.slice(1)}`,
        "",
        comment,
        "",
        "| type | what happens | by | fields |",
        "|---|---|---|---|",
        ...rows,
        ...(notes.length === 0 ? [] : ["", ...notes]),
      ].join("\n");
    })
    .join("\n\n");
}

function fieldText(name: string, text: string): string {
  const [, mark, kind] = /^(content |personal )?(.+)$/.exec(text) ?? [];
  const stars = { "": "", "content ": "**", "personal ": "***" }[mark ?? ""];
  return `${stars}\`${name}\`${stars} ${kind}`;
}

function kindList(): string {
  const list: readonly [string, Kind][] = Object.entries(kinds);
  return list.map(([name, { wanted, note }]) => `- \`${name}\`: ${note ?? wanted}`).join("\n");
}

type FamilySource = {
  readonly comment: string;
  readonly types: Map<string, { readonly comment: string; readonly fields: Map<string, string> }>;
};

/** What the sources say in comments and in types, which a program cannot see: in the order of the table. */
function familiesOfSource(): Map<string, FamilySource> {
  const families = new Map<string, FamilySource>();
  for (const file of readdirSync(factFolder)) {
    const source = readFileSync(new URL(file, factFolder), "utf8");
    for (const statement of ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true).statements) {
      if (!ts.isVariableStatement(statement)) continue;
      const [declared] = statement.declarationList.declarations;
      if (declared?.initializer === undefined || !ts.isObjectLiteralExpression(declared.initializer))
        continue;
      const types: FamilySource["types"] = new Map();
      for (const entry of declared.initializer.properties) {
        if (!ts.isPropertyAssignment(entry) || !ts.isCallExpression(entry.initializer)) continue;
        if (!["fact", "openFact"].includes(entry.initializer.expression.getText())) continue;
        types.set(entry.name.getText().replaceAll('"', ""), {
          comment: commentOf(entry, source),
          fields: fieldNotes(entry.initializer, source),
        });
      }
      if (types.size > 0)
        families.set(declared.name.getText(), { comment: commentOf(statement, source), types });
    }
  }
  const order = [...entries.keys()];
  return new Map(
    [...families].sort(([, one], [, other]) => first(one.types, order) - first(other.types, order)),
  );
}

function first(types: FamilySource["types"], order: readonly string[]): number {
  return order.indexOf([...types.keys()][0] as string);
}

/** Fields with a comment, or with a type that says more than their kind. */
function fieldNotes(call: ts.CallExpression, source: string): Map<string, string> {
  const notes = new Map<string, string>();
  const [entry] = call.arguments;
  if (entry === undefined || !ts.isObjectLiteralExpression(entry)) return notes;
  for (const property of entry.properties) {
    if (!ts.isPropertyAssignment(property) || property.name.getText() !== "fields") continue;
    if (!ts.isObjectLiteralExpression(property.initializer)) continue;
    for (const field of property.initializer.properties) {
      const type = /typed<(.+)>\(/s.exec(field.getText())?.[1];
      const note = [...(type === undefined ? [] : [`\`${type}\`.`]), commentOf(field, source)].filter(
        Boolean,
      );
      if (note.length > 0) notes.set(field.name?.getText() ?? "", note.join(" "));
    }
  }
  return notes;
}

/** The last comment before a node, on one line. */
function commentOf(node: ts.Node, source: string): string {
  const range = ts.getLeadingCommentRanges(source, node.pos)?.at(-1);
  if (range === undefined) return "";
  return source
    .slice(range.pos, range.end)
    .replace(/^\/\*\*|\*\/$/g, "")
    .replace(/^\s*\* ?/gm, "")
    .replaceAll(/\s+/g, " ")
    .replaceAll("|", "\\|")
    .trim();
}
