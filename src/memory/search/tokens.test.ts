import { describe, expect, it } from "vitest";
import { askedOf, MOST_WORDS, stemOf, wordsOf } from "./tokens.js";

describe("the words of a text", () => {
  it("[S11] texts without spaces are cut into characters that stand together", () => {
    expect(wordsOf("黒い猫")).toEqual(["黒い", "い猫", "黒", "猫"]);
    expect(askedOf("黒い猫")).toEqual(["黒い", "い猫"]);
    expect(askedOf("猫")).toEqual(["猫"]);
    expect(wordsOf("サーバー")).toEqual(["サー", "ーバ", "バー"]);
    expect(wordsOf("한국어 검색")).toEqual(["한국", "국어", "검색"]);
    expect(wordsOf("ประชุม")).toEqual(["ประ", "ระช", "ะชุ", "ชุม"]);
    expect(wordsOf("ไป")).toEqual(["ไป"]);
    expect(wordsOf("在v2版本")).toEqual(["在", "v2", "版本", "版", "本"]);
  });

  it("[S12] identifiers are the whole, their parts, and parts that stand together", () => {
    expect(wordsOf("ERR_STORE_42")).toEqual(expect.arrayContaining(["err", "store", "42", "err_store_42"]));
    expect(wordsOf("src/app/main.ts")).toEqual(
      expect.arrayContaining(["src", "app", "main", "ts", "main_ts", "src_app_main_ts"]),
    );
    expect(wordsOf("v2.3.1")).toEqual(expect.arrayContaining(["v2", "3", "1", "v2_3_1"]));
    expect(wordsOf("SpaceIndex")).toEqual(["space", "index", "spaceindex"]);
    expect(askedOf("main.ts")).toContain("main_ts");
  });

  it("[S12] accents, case, width and English endings make no difference", () => {
    expect(wordsOf("Überprüfung")).toEqual(wordsOf("uberprufung"));
    expect(wordsOf("ＦＵＬＬ")).toEqual(["full"]);
    expect(wordsOf("releases")).toEqual(wordsOf("Released"));
    expect(wordsOf("हिन्दी")).toEqual(["हिन्दी"]);
    const stems: readonly (readonly [string, string])[] = [
      ["caresses", "caress"],
      ["ponies", "poni"],
      ["agreed", "agre"],
      ["hopping", "hop"],
      ["filing", "file"],
      ["relational", "relat"],
      ["formalize", "formal"],
      ["adjustment", "adjust"],
      ["controlling", "control"],
      ["generalizations", "gener"],
      ["deploying", "deploy"],
      ["deployment", "deploy"],
      ["sky", "sky"],
      ["is", "is"],
    ];
    for (const [word, stem] of stems) expect(stemOf(word)).toBe(stem);
  });

  it("[S13] of a text without end the first words are taken, and anything may stand in it", () => {
    const long = wordsOf("word after word ".repeat(700_000));
    expect(long.length).toBe(MOST_WORDS);
    expect(wordsOf("x".repeat(10_000_000)).length).toBe(1);
    expect(wordsOf("-_./".repeat(100_000))).toEqual([]);
    expect(wordsOf("\ud800 three \udfff\u0000two\n🙂 \u0301")).toEqual(["three", "two"]);
    for (const word of wordsOf("\ud800a \"quoted\" 'x' * OR AND NEAR(a, b)"))
      expect(word).toMatch(/^[\p{L}\p{N}\p{M}_]+$/u);
    expect(askedOf(Array.from({ length: 500 }, (_, at) => `w${at}`).join(" ")).length).toBe(64);
  });
});
