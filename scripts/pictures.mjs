// @ts-check
// Makes the pictures of docs/studio.md: `node scripts/pictures.mjs` runs the demonstration, opens the page of `rath studio` over it
// in Debian's Chromium, does what docs/studio.md tells, and takes a picture of each view on the way.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { root, say } from "./run.mjs";
import { runDemo, startStudio } from "./studio-demo.mjs";

const target = join(root, "docs", "pictures");
mkdirSync(target, { recursive: true });
const wanted = process.env.OPENRATH_CHROMIUM ?? "chromium";
const browser = await chromium.launch({
  executablePath: wanted.includes("/")
    ? wanted
    : execFileSync("which", [wanted], { encoding: "utf8" }).trim(),
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});
say("running the demonstration ...");
const { folder, modules, rejection, remove } = await runDemo();
const studio = await startStudio(folder, ["--modules", modules]);
try {
  await visit(studio.link, studio.origin);
} finally {
  await browser.close();
  await studio.stop();
  remove();
}

/** @param {string} link @param {string} origin */
async function visit(link, origin) {
  const page = await browser.newPage({ viewport: { width: 1320, height: 760 }, reducedMotion: "reduce" });
  const sees = (/** @type {string | RegExp} */ words) =>
    page.getByText(words).filter({ visible: true }).first().waitFor();
  const take = async (/** @type {string} */ name) => {
    await page.waitForTimeout(300);
    const webp = await smaller(await page.screenshot());
    writeFileSync(join(target, `${name}.webp`), webp);
    say(`${name}.webp has ${Math.round(webp.length / 1_000)} kB`);
  };
  await page.goto(link);
  await sees("demo-1");
  await page.goto(`${origin}/s/demo-1/graph?at=${rejection}`);
  await sees("Rerun from here");
  await take("graph");
  await page.goto(`${origin}/rerun/${rejection}`);
  await page.getByLabel("The instruction").fill("Deal the remaining cents out one by one.");
  await page.getByLabel("Name of the new session").fill("another-try");
  await page.getByRole("button", { name: "What would happen?" }).click();
  await page.getByRole("button", { name: "Start it" }).waitFor();
  await take("rerun");
  for (const box of await page.getByRole("checkbox").all()) await box.check();
  await page.getByRole("button", { name: "Start it" }).click();
  await sees(/facts? in common/);
  await page.goto(`${origin}/inbox`);
  await sees("Exactly this will happen");
  await take("inbox");
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  await sees("The run continues");
  await page.waitForTimeout(5_000);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${origin}/compare?a=demo-1&b=another-try`);
  await sees(/facts? in common/);
  await take("compare");
}

/** The picture as WebP: the repository carries it, the package does not. @param {Buffer} png */
async function smaller(png) {
  const page = await browser.newPage();
  const address = await page.evaluate(
    `new Promise((done) => {
      const image = new Image();
      image.onload = () => {
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.width, image.height];
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        done(canvas.toDataURL("image/webp", 0.6));
      };
      image.src = "data:image/png;base64,${png.toString("base64")}";
    })`,
  );
  await page.close();
  return Buffer.from(String(address).split(",")[1] ?? "", "base64");
}
