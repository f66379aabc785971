import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { afterAll, describe, expect, it, vi } from "vitest";
import { coverage, EmbeddingError, staticEmbedding, wordPieces } from "./index.js";
import { LONGEST_TEXT } from "./piece.js";
import { readTable } from "./table.js";

// The real one; it only counts.
vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  return { ...real, readFileSync: vi.fn(real.readFileSync) };
});

const { embed, dimensions, name } = staticEmbedding();

function vectorOf(text: string): Float32Array {
  const [vector] = embed([text]) as readonly Float32Array[];
  return vector as Float32Array;
}

function cosine(one: string, other: string): number {
  const [first, second] = [vectorOf(one), vectorOf(other)];
  return first.reduce((sum, value, at) => sum + value * (second[at] as number), 0);
}

function digestOf(text: string): string {
  const { buffer, byteOffset, byteLength } = vectorOf(text);
  return createHash("sha256")
    .update(new Uint8Array(buffer, byteOffset, byteLength))
    .digest("hex")
    .slice(0, 16);
}

/** Of the vectors' bytes. A change here is another embedding: raise VERSION in static.ts. */
const DIGESTS = {
  "The deployment is frozen on Friday.": "279f0e34757b6313",
  "Zahlungsbedingungen für Kunden": "1f3d95ecc60176d3",
  数据库的密码每个月更换: "1cc6969c8c201aa5",
  データベースのパスワード: "7eeece54061c1e1e",
  รหัสผ่านของฐานข้อมูล: "2893694c4a68ca3e",
  "Ünïcödé ＦＵＬＬ Ωmega Погода 회의 🚀": "28571b112920888b",
};

/** A question, the note that answers it, and others that do not. */
const ALIKE: readonly (readonly [string, string, ...string[]])[] = [
  [
    "which foods does she have to avoid",
    "Maria is allergic to peanuts.",
    "The build needs Java 17.",
    "The train leaves at seven.",
  ],
  ["vehicle repair", "The car needs new brakes.", "Invoices are paid by card.", "The cat sleeps all day."],
  [
    "Why does the program use so much RAM?",
    "Memory grows as the cache is never cleared.",
    "Lunch is at noon.",
  ],
  [
    "Reparatur des Fahrzeugs",
    "Das Auto muss wegen neuer Bremsen in die Werkstatt.",
    "Die Kinder haben mittwochs Schwimmunterricht.",
    "Der Drucker druckt nur schwarz.",
  ],
  [
    "Wann muss ich für die Wohnung bezahlen?",
    "Die Miete ist am dritten Werktag fällig.",
    "Die Katze heißt Minka.",
  ],
  ["车辆维修", "汽车需要换刹车", "孩子们星期三学游泳", "猫叫小花"],
  ["拍照时的错误", "旧手机打开相机时应用会崩溃", "房租在月底到期", "医生建议少吃盐"],
  ["自動車の整備", "車はブレーキ交換のため修理工場に行く", "猫の名前はミケだ", "会議は火曜日"],
  ["ペットの名前", "猫はミケと呼ばれている", "請求書は十年で削除する", "電車は七時に出る"],
  [
    "réparation du véhicule",
    "La voiture a besoin de nouveaux freins.",
    "Le chat s'appelle Minou.",
    "La réunion est mardi.",
  ],
  [
    "reparación del vehículo",
    "El coche necesita frenos nuevos.",
    "El gato se llama Misi.",
    "La reunión es el martes.",
  ],
  ["ซ่อมรถยนต์", "รถต้องเข้าอู่เพื่อเปลี่ยนเบรก", "แมวชื่อมะลิ", "ประชุมวันอังคาร"],
  ["สัตว์เลี้ยง", "แมวชื่อมะลิ", "ค่าเช่าครบกำหนด", "รถไฟออกเจ็ดโมง"],
];

/** Halves of characters and all. */
const anyText = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
  maxLength: 60,
});

const folder = mkdtempSync(join(tmpdir(), "rath-table-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the embedding that ships with the package", () => {
  it("[E1] answers at once, with nothing but the package", () => {
    const vectors = embed(["the server is down", "lunch at noon"]);
    expect(Array.isArray(vectors)).toBe(true);
    expect(vectors).toHaveLength(2);
    expect(name).toMatch(/^openrath-static-\d+$/);
    expect(dimensions).toBe(256);
    expect(vectorOf("the server is down")).toHaveLength(dimensions);
    expect(() => embed(["x"], AbortSignal.abort())).toThrow("aborted");
  });

  it("[E1] reads its table at the first text, and once", async () => {
    vi.resetModules();
    vi.mocked(readFileSync).mockClear();
    const read = () =>
      vi.mocked(readFileSync).mock.calls.filter(([path]) => String(path).endsWith("table.bin"));
    const fresh = (await import("./index.js")).staticEmbedding();
    expect(read()).toHaveLength(0);
    await fresh.embed(["a"]);
    await fresh.embed(["b"]);
    expect(read()).toHaveLength(1);
  });

  it.each(Object.entries(DIGESTS))("[E2] has the same vector everywhere: %s", (text, digest) => {
    expect(digestOf(text)).toBe(digest);
  });

  it("[E2] has the same vectors for every character that there is, whatever Unicode the running Node knows", () => {
    const hash = createHash("sha256");
    for (let from = 0; from < 0x110000; from += 4096) {
      const points = Array.from({ length: 4096 }, (_, at) => from + at);
      const text = points.map((at) => `${String.fromCodePoint(at)}${at % 16 === 15 ? " " : ""}`).join("");
      hash.update(new Uint8Array(vectorOf(text).buffer));
    }
    expect(hash.digest("hex").slice(0, 16)).toBe("c5373df2bd0c3415");
  });

  it("[E3] gives vectors of length 1, and zeros where there is nothing to read", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const vector = vectorOf(text);
        const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
        expect(vector.length).toBe(dimensions);
        if (vector.some((value) => value !== 0)) expect(length).toBeCloseTo(1, 5);
      }),
    );
    for (const text of ["", " \n\t", "...!?", "\ud800", "。、"])
      expect(vectorOf(text).every((value) => value === 0)).toBe(true);
  });

  it.each(ALIKE)("[E4] finds what is meant: %s", (query, note, ...others) => {
    for (const other of others) expect(cosine(query, note)).toBeGreaterThan(cosine(query, other));
  });

  it("[E5] finds in one language what was noted in another", () => {
    const notes = [
      "The invoice must be paid within thirty days.",
      "The cat hates the vacuum cleaner.",
      "The database password changes every month.",
      "The train leaves in the morning.",
    ];
    const queries = [
      [
        "Wann muss die Rechnung bezahlt werden?",
        "发票什么时候付款",
        "請求書の支払い期限",
        "ใบแจ้งหนี้ต้องจ่ายเมื่อไร",
      ],
      [
        "Katze und Staubsauger",
        "猫讨厌吸尘器吗",
        "猫は掃除機が嫌い",
        "แมวเกลียดเครื่องดูดฝุ่น",
        "Le chat et l'aspirateur",
        "el gato odia la aspiradora",
      ],
      [
        "Passwort der Datenbank",
        "数据库的密码",
        "データベースのパスワード",
        "รหัสผ่านฐานข้อมูล",
        "la contraseña de la base de datos",
      ],
      ["Wann fährt der Zug?", "火车早上几点出发", "列車は朝に出発する", "รถไฟออกตอนเช้า"],
    ];
    for (const [place, asked] of queries.entries())
      for (const query of asked) {
        const scores = notes.map((note) => cosine(query, note));
        expect(scores.indexOf(Math.max(...scores)), query).toBe(place);
      }
  });

  it.each([
    ["Zwetschgendatschi", "Zwetschgendatschis", "Kfz-Haftpflicht"],
    ["Отчёт за квартал", "квартальный отчёт", "погода завтра"],
    ["회의는 화요일에 있다", "화요일 회의", "고양이 이름"],
    ["xylophag-7 is broken", "the xylophag-7 unit", "the marmoset unit"],
    ["🚀🚀 launch", "🚀", "🐈"],
    ["ร้านกวยจั๊บเจ้าเก่า", "กวยจั๊บ", "ขนมครก"],
  ])("[E6] knows unknown words again: %s", (text, alike, unlike) => {
    expect(cosine(text, alike)).toBeGreaterThan(cosine(text, unlike) + 0.1);
  });

  it("[E7] takes a text to pieces", () => {
    expect(wordPieces("The CAFÉ: naïve servers")).toEqual(["the", "cafe", ":", "naive", "servers"]);
    expect(wordPieces("Straße ＡＢＣ")).toEqual([...wordPieces("strasse"), ...wordPieces("abc")]);
    expect(wordPieces("数据")).toHaveLength(2);
    const split = wordPieces("qwertyuiopology");
    expect(split.length).toBeGreaterThan(1);
    expect(split.map((piece) => piece.replace(/^##/, "")).join("")).toBe("qwertyuiopology");
    expect(split.slice(1).every((piece) => piece.startsWith("##"))).toBe(true);
    expect(wordPieces("ꙮꙮ")).toEqual(["[UNK]"]);
    expect(wordPieces("")).toEqual([]);
  });

  it.each([
    ["ten megabytes of words", "the deployment failed because of the clock. ".repeat(240_000)],
    ["ten megabytes of one word", "a".repeat(10_000_000)],
    ["a million emoji", "🦊".repeat(1_000_000)],
    ["lone surrogates", "\ud800\ud800a\udc00".repeat(50_000)],
    ["one endless word of a forgotten script", "\u{10000}".repeat(50_000)],
    ["control characters", "\0\u0007\u202e\u{e0001}".repeat(10_000)],
    ["Han without an end", "数据库密码".repeat(100_000)],
    ["Thai without an end", "รหัสผ่าน".repeat(100_000)],
  ])("[E8] reads no more than it has to of %s", (_, text) => {
    expect(vectorOf(text)).toEqual(vectorOf(text.slice(0, LONGEST_TEXT)));
    expect(vectorOf(text).every(Number.isFinite)).toBe(true);
    expect(coverage(text)).toBeLessThanOrEqual(1);
    expect(wordPieces(text).length).toBeLessThanOrEqual(LONGEST_TEXT);
  });

  it("[E8] never throws", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(vectorOf(text).every(Number.isFinite)).toBe(true);
        wordPieces(text);
        coverage(text);
      }),
    );
  });

  it("[E9] says how much of a text it knows", () => {
    expect(coverage("The server crashed during the nightly backup.")).toBeGreaterThan(0.95);
    expect(coverage("Das Passwort der Datenbank ist geheim.")).toBeGreaterThan(0.8);
    expect(coverage("数据库的密码")).toBeGreaterThan(0.8);
    expect(coverage("Zxqvwk brglfth ꙮꙮꙮ")).toBeLessThan(0.4);
    expect(coverage("Погода завтра")).toBeLessThan(0.4);
    expect(coverage("")).toBe(0);
    fc.assert(
      fc.property(anyText, (text) => {
        expect(coverage(text)).toBeGreaterThanOrEqual(0);
        expect(coverage(text)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("[E14] refuses a table that is missing or damaged", () => {
    const whole = readFileSync(createRequire(import.meta.url).resolve("@openrath/embedding/table.bin"));
    const place = join(folder, "table.bin");
    const reading = (bytes: Uint8Array) => () => {
      writeFileSync(place, bytes);
      return readTable(pathToFileURL(place));
    };
    expect(reading(whole)().dimensions).toBe(dimensions);
    for (const bytes of [
      whole.subarray(0, 7),
      whole.subarray(0, -1),
      Buffer.concat([whole, Buffer.of(1)]),
      whole.subarray(1),
    ])
      expect(reading(bytes)).toThrow(EmbeddingError);
    expect(() => readTable(pathToFileURL(join(folder, "none.bin")))).toThrow(
      expect.objectContaining({ code: "memory-embedding", hint: expect.stringContaining("install") }),
    );
  });

  it("[E15] without its package, says what to install, searches by words, and warns once", async () => {
    vi.resetModules();
    vi.doMock("node:module", async (original) => {
      const real = await original<typeof import("node:module")>();
      const createRequire = (from: string): NodeJS.Require => {
        const require = real.createRequire(from);
        const resolve = Object.assign((wanted: string): string => {
          if (!wanted.startsWith("@openrath/")) return require.resolve(wanted);
          throw Object.assign(new Error(`Cannot find ${wanted}`), { code: "MODULE_NOT_FOUND" });
        }, require.resolve);
        return Object.assign((wanted: string) => require(wanted), { ...require, resolve });
      };
      return { ...real, createRequire };
    });
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const fresh = (await import("./index.js")).staticEmbedding();
    expect(() => fresh.embed(["a"])).toThrow(
      expect.objectContaining({
        code: "memory-embedding",
        hint: expect.stringContaining("npm install @openrath/embedding"),
      }),
    );
    const { space, result } = await (await import("../testing/world.js")).world();
    const text = "The server listens on port 8080.";
    await space.write({ text, because: [result], source: "tool-result", by: "agent:coder" });
    const { found, ...rest } = await space.find("server port");
    expect(found.map(({ memory }) => memory.text)).toEqual([text]);
    expect(rest).toMatchObject({ mode: "words", without: expect.stringContaining("@openrath/embedding") });
    await expect(space.find("server port", { mode: "meaning" })).rejects.toThrow("not installed");
    expect(warn.mock.calls.filter(([, options]) => JSON.stringify(options).includes("WORDS_ONLY"))).toEqual([
      [expect.stringContaining("by their words only"), expect.anything()],
    ]);
    vi.doUnmock("node:module");
    warn.mockRestore();
  });
});
